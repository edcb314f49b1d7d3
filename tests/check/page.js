// page.js PAGE NAME...: opens a page that ptprof --html has written in a browser
// without a window, and does what a person does. Prints what is wrong, a line
// each; nothing if all is right.
//
// What is asked: no request for anything; no error on the console; the names in
// the document and, once they are searched, in the table; a click on one finds
// calls in the view. The browser is told over a pipe (DevTools protocol).
'use strict';
const {spawn} = require('child_process');
const fs = require('fs'), os = require('os'), path = require('path');
const [page, ...names] = process.argv.slice(2);
const home = fs.mkdtempSync(path.join(os.tmpdir(), 'page'));
const browser = spawn('chromium', ['--headless', '--no-sandbox', '--disable-quic',
    '--enable-unsafe-swiftshader', '--no-first-run', '--disable-sync',
    '--disable-component-update', '--disable-background-networking',
    '--window-size=1200,900', `--user-data-dir=${home}`,
    '--remote-debugging-pipe', 'about:blank'],
    {stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe']});
const waiting = new Map(), wrong = [];
let count = 0, rest = '', session, opened = false;

browser.stdio[4].on('data', bytes => {
    const parts = (rest + bytes).split('\0');
    rest = parts.pop();
    for (const part of parts) heard(JSON.parse(part));
});
function send(method, params = {}) {
    const id = ++count;
    browser.stdio[3].write(
        JSON.stringify({id, method, params, sessionId: session}) + '\0');
    return new Promise(done => waiting.set(id, done));
}
function heard(m) {
    if (m.id) {
        if (m.error) wrong.push(`browser: ${m.error.message}`);
        waiting.get(m.id)(m.result || {});
        return;
    }
    const p = m.params;
    if (m.method === 'Network.requestWillBeSent' &&
        !(p.request.url.startsWith('data:') ||
          (!opened && p.request.url.startsWith('file:'))))
        wrong.push(`request: ${p.request.url.slice(0, 100)}`);
    if (m.method === 'Network.requestWillBeSent') opened = true;
    if (m.method === 'Runtime.exceptionThrown')
        wrong.push(`exception: ${p.exceptionDetails.text} ${p.exceptionDetails.exception?.description}`);
    if (m.method === 'Log.entryAdded' && p.entry.level === 'error')
        wrong.push(`log: ${p.entry.text}`);
    if (m.method === 'Runtime.consoleAPICalled' &&
        ['error', 'assert'].includes(p.type))
        wrong.push(`console: ${p.args.map(a => a.value).join(' ')}`);
    if (m.method === 'Page.javascriptDialogOpening')
        wrong.push(`dialog: ${p.message}`);
}
async function value(expression) {
    const r = await send('Runtime.evaluate', {expression, returnByValue: true});
    if (r.exceptionDetails) wrong.push(`${expression}: exception`);
    return r.result && r.result.value;
}
async function until(what, expression) {
    for (let i = 0; i < 300; i++) {
        if (await value(expression)) return;
        await new Promise(done => setTimeout(done, 100));
    }
    wrong.push(`never: ${what}`);
}
const frame = 'document.getElementById("view").contentWindow.document';

async function main() {
    const {targetInfos} = await send('Target.getTargets');
    const {targetId} = targetInfos.find(t => t.type === 'page');
    session = (await send('Target.attachToTarget',
        {targetId, flatten: true})).sessionId;
    for (const domain of ['Page', 'Network', 'Runtime', 'Log'])
        await send(`${domain}.enable`);
    await send('Page.navigate', {url: `file://${path.resolve(page)}`});
    await until('the view has the profile',
        `document.readyState === "complete" && ${frame}.title.length > 10`);
    for (const name of names) {
        const text = JSON.stringify(name);
        const row = `[...document.querySelectorAll("#functions tbody tr")]
            .find(r => r.querySelector("a").textContent === ${text})`;
        if (!await value(`!!(${row})`)) {
            wrong.push(`no row: ${name}`);
            continue;
        }
        // Search: part of the name, so that others go.
        await value(`(() => {
            const s = document.getElementById("search");
            s.value = ${text};
            s.dispatchEvent(new Event("input"));
        })()`);
        if (!await value(`[...document.querySelectorAll("#functions tbody tr")]
            .every(r => r.hidden !== r.querySelector("a").textContent
                .toLowerCase().includes(${text}.toLowerCase()))`))
            wrong.push(`search: ${name}`);
        // A click: the viewer's search says 1/N.
        const at = await value(`(() => {
            scrollTo(0, 0);
            document.getElementById("list").scrollTop = 0;
            const b = (${row}).querySelector("a").getBoundingClientRect();
            return [b.x + b.width / 2, b.y + b.height / 2];
        })()`);
        for (const type of ['mousePressed', 'mouseReleased'])
            await send('Input.dispatchMouseEvent',
                {type, x: at[0], y: at[1], button: 'left', clickCount: 1});
        await until(`${name} is found in the view`,
            `${frame}.querySelector("input")?.value === ${text} &&
             /[1-9][0-9]*\\/[1-9]/.test(${frame}.body.innerText)`);
    }
    const {data} = await send('Page.captureScreenshot');
    if (process.env.SCREENSHOT)
        fs.writeFileSync(process.env.SCREENSHOT, Buffer.from(data, 'base64'));
    await send('Browser.close');
}
const end = status => {
    if (wrong.length) console.log([...new Set(wrong)].join('\n'));
    browser.on('exit', () => setTimeout(() => {
        fs.rmSync(home, {recursive: true, force: true, maxRetries: 20,
            retryDelay: 100});
        process.exit(status);
    }, 300));
    if (browser.exitCode !== null) browser.emit('exit');
    browser.kill();
};
setTimeout(() => {
    wrong.push('it takes too long');
    end(1);
}, 200000);
main().then(() => end(wrong.length ? 1 : 0));
