/* libipt.h: libipt (Debian's libipt-dev) as a referee, of instructions.
 *
 * It pops its return stack at compressed returns only, and does not empty it at
 * PSB: with return compression it can be asked where that makes no difference.
 * Without, it takes every TNT bit in flight at a RET for that RET's, so not
 * with deferred TIPs. Flow that leaves a filter has to do so by a branch. CFE
 * packets it does not know. */
static int libipt_can(void)
{
    if (out.walked_out || out.model->with & EVENTS)
        return 0;
    return out.config.flags & IPT_CONFIG_NO_RETCOMP
               ? !(out.config.flags & IPT_GEN_DEFER)
               : !out.strayed;
}

static int libipt_read(uint8_t *buffer, size_t size,
                       const struct pt_asid *asid, uint64_t ip, void *context)
{
    ipt_asid ours;
    int n;

    memset(&ours, 0, sizeof(ours));
    ours.nr = asid->cr3 != HOST_CR3 && asid->cr3 != HOST_CR3_2;
    n = read_code(buffer, size, &ours, ip, context);
    return n < 0 ? -pte_nomap : n;
}

static int libipt_loop(struct pt_insn_decoder *decoder)
{
    struct pt_insn insn;
    struct pt_event e;
    int status = pt_insn_sync_forward(decoder);

    while (status >= 0 && at.index < out.count) {
        const code *c = &codes[out.ids[at.index]];
        while (status >= 0 && status & pts_event_pending)
            status = pt_insn_event(decoder, &e, sizeof(e));
        if (status < 0)
            break;
        memset(&insn, 0, sizeof(insn));
        status = pt_insn_next(decoder, &insn, sizeof(insn));
        if (status < 0 && insn.iclass == ptic_error)
            break;
        if (insn.ip != c->ip || insn.size != c->size)
            return bad("libipt has %" PRIx64 ", executed is %" PRIx64, insn.ip,
                       c->ip);
        at.index++;
        apply_changes();
    }
    if (at.index < out.count)
        return bad("libipt stops at %zu of %zu: %s", at.index, out.count,
                   pt_errstr(pt_errcode(status)));
    return 0;
}

static int decode_libipt(void)
{
    struct pt_config config;
    struct pt_insn_decoder *decoder;
    struct pt_image *image = pt_image_alloc(NULL);
    int status = -1;

    pt_config_init(&config);
    config.begin = out.trace;
    config.end = out.trace + out.gen.used;
    config.errata.bdm70 = 1;
    decoder = pt_insn_alloc_decoder(&config);
    memset(&at, 0, sizeof(at));
    apply_changes();
    if (decoder && image && pt_image_set_callback(image, libipt_read, NULL) >= 0
        && pt_insn_set_image(decoder, image) >= 0)
        status = libipt_loop(decoder);
    pt_insn_free_decoder(decoder);
    pt_image_free(image);
    return status;
}
