import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findClosedPort } from '@webhooks/core/testing/local-server';
import { signBody } from '@webhooks/signature';
import { until } from './support/until';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const BODY = '{"type":"brief.created","data":{"title":"Über uns"}}';
const PORT_IN_README = '4000';

const hasPython = spawnSync('python3', ['--version']).status === 0;
if (!hasPython) console.warn('SKIPPED: the Python receiver of the README, because there is no python3 here.');

const languages = [
  { language: 'js', file: 'receiver.mjs', command: process.execPath },
  ...(hasPython ? [{ language: 'python', file: 'receiver.py', command: 'python3' }] : []),
];

describe.each(languages)("the README's receiver in $language", ({ language, file, command }) => {
  let folder: string;
  let url: string;
  let receiver: ChildProcess;

  beforeAll(async () => {
    const port = await findClosedPort();
    folder = await mkdtemp(join(tmpdir(), 'webhooks-readme-'));
    await writeFile(join(folder, file), (await readSnippet(language)).replace(PORT_IN_README, String(port)));
    receiver = spawn(command, [file], {
      cwd: folder,
      env: { ...process.env, WEBHOOK_SECRET: SECRET },
      stdio: 'ignore',
    });
    url = `http://127.0.0.1:${port}/hook`;
    await until(async () => (await send('sha256=', BODY).catch(() => undefined)) && true);
  });
  afterAll(async () => {
    const exited = once(receiver, 'exit');
    receiver.kill();
    await exited;
    await rm(folder, { recursive: true });
  });

  it('accepts what is signed with its secret', async () => {
    expect(await send(signBody(SECRET, BODY), BODY)).toBe(204);
  });

  it.each([
    ['another body', signBody(SECRET, `${BODY} `)],
    ['another secret', signBody(`${SECRET}x`, BODY)],
    ['nothing', ''],
    ['letters beyond ASCII', `sha256=${'ü'.repeat(64)}`],
  ])('refuses a signature over %s', async (_what, signature) => {
    expect(await send(signature, BODY)).toBe(401);
  });

  async function send(signature: string, body: string): Promise<number> {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'x-service-signature': signature },
      body,
    });
    return response.status;
  }
});

async function readSnippet(language: string): Promise<string> {
  const readme = await readFile(join(__dirname, '..', 'README.md'), 'utf8');
  const snippet = new RegExp(`\`\`\`${language}\n([^]*?)\n\`\`\``).exec(readme)?.[1];
  if (snippet === undefined) throw new Error(`The README has no snippet in ${language}.`);
  return snippet;
}
