# views.mk: the demo, and targets about pictures. Part of ../../Makefile.

demo: deps  ## Record a real program, decode it, compare: no PT hardware needed
	+@$(SUB) tools
	@DEMO_FLAGS="$(DEMO_FLAGS)" sh $(CHECK_DIR)/demo.sh $(BUILD) \
	    $(DEMO_RECORDING) $(DEMO_CMD)

test-views: tools  ## Other people's programs read what ptprof writes
	@CC="$(CC)" TEST_FULL=1 VIEWS=1 $(RUN) tests/views.sh tests/exports.sh

picture: demo  ## The README's picture again, from what the demo recorded
	@sh $(CHECK_DIR)/speedscope.sh $(BUILD)/demo.speedscope.json \
	    --window-size=1200,440 --screenshot="$(CURDIR)/examples/picture.png"
