import { spawnSync } from 'node:child_process';
import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { signBody, signMessage } from '@hookferry/core/deliver/prepare-request';
import type { Provided } from '../support/provide-program';
import { type CommandLine, provideToolchain, runWith, type Toolchain } from '../support/toolchain';
import { blocksOf, readPage } from './read-page';

interface Runtime {
  readonly language: string;
  readonly snippet: string;
  /** Reads requests from its standard input and has the snippet check each. */
  readonly checker: string;
  readonly otherFiles?: Readonly<Record<string, string>>;
  readonly commands: readonly CommandLine[];
  /** What it needs to verify by public keys, if its standard library can't: prints a version where it is there. */
  readonly keyProbe?: CommandLine;
}

const RUNTIMES: readonly Runtime[] = [
  {
    language: 'js',
    snippet: 'snippet.mjs',
    checker: 'check.mjs',
    commands: [[process.execPath, 'check.mjs']],
  },
  {
    language: 'python',
    snippet: 'snippet.py',
    checker: 'check.py',
    keyProbe: ['python3', '-c', 'import cryptography'],
    commands: [['python3', 'check.py']],
  },
  {
    language: 'go',
    snippet: 'webhooks/webhooks.go',
    checker: 'check.go',
    otherFiles: { 'go.mod': 'module example\n\ngo 1.18\n' },
    commands: [['go', 'run', 'check.go']],
  },
  {
    language: 'ruby',
    snippet: 'snippet.rb',
    checker: 'check.rb',
    commands: [['ruby', 'check.rb']],
  },
  {
    language: 'php',
    snippet: 'snippet.php',
    checker: 'check.php',
    commands: [['php', 'check.php']],
  },
  {
    language: 'java',
    snippet: 'WebhookSignature.java',
    checker: 'Check.java',
    commands: [
      ['javac', '-encoding', 'UTF-8', 'WebhookSignature.java', 'Check.java'],
      ['java', 'Check'],
    ],
  },
];

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const OTHER_SECRET = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD';
const BODY = '{"type":"brief.created","data":{"title":"Über uns\\u2028 / 🚀"}}';
const ID = 'evt_01m7z10j5c4fq3r52bewgh';
const NOW = Math.floor(Date.now() / 1000);
const HOUR = 3600;

interface Case {
  readonly what: string;
  readonly isGenuine: boolean;
  readonly scheme: 'body' | 'message' | 'key';
  readonly body: string;
  /** In the order of the function's parameters; `undefined` is missing. */
  readonly headers: readonly (string | undefined)[];
}

const { privateKey } = generateKeyPairSync('ed25519');
const { privateKey: otherKey } = generateKeyPairSync('ed25519');
const PUBLIC_KEY = publicKeyOf(privateKey);
const bySecret = signMessage([SECRET], { id: ID, timestamp: NOW, body: BODY });

const allCases: readonly Case[] = [
  ofBody('its signature', true, signBody(SECRET, BODY)),
  ofBody('a signature by another secret', false, signBody(OTHER_SECRET, BODY)),
  ofBody('a signature over another body', false, signBody(SECRET, `${BODY} `)),
  ofBody('no header', false, undefined),
  ofBody('a shorter signature', false, signBody(SECRET, BODY).slice(0, -1)),
  ofBody('a longer signature', false, `${signBody(SECRET, BODY)}0`),
  ofBody('letters beyond ASCII', false, `sha256=${'ü'.repeat(64)}`),
  ofMessage('its signature', true, {}),
  ofMessage('its signature after another one', true, { secrets: [OTHER_SECRET, SECRET] }),
  ofMessage('a signature by another secret', false, { secrets: [OTHER_SECRET] }),
  ofMessage('a signature over another body', false, { signedBody: `${BODY} ` }),
  ofMessage('a signature over another id', false, { signedId: 'evt_other' }),
  ofMessage('an old request', false, { timestamp: NOW - HOUR }),
  ofMessage('a request from the future', false, { timestamp: NOW + HOUR }),
  ofMessage('a time that is none', false, { sentTimestamp: 'yesterday' }),
  ofMessage('another time than was signed', false, { sentTimestamp: String(NOW - 1) }),
  ofMessage('no id', false, { missing: 0 }),
  ofMessage('no time', false, { missing: 1 }),
  ofMessage('no signature', false, { missing: 2 }),
  ofMessage('a shorter signature', false, { change: (signature) => signature.slice(0, -1) }),
  ofMessage('a longer signature', false, { change: (signature) => `${signature}=` }),
  ofMessage('letters beyond ASCII', false, { change: () => `v1,${'ü'.repeat(43)}=` }),
  ofKey('its signature', true, {}),
  ofKey('its signature after one by the secret', true, { change: (own) => `${bySecret} ${own}` }),
  ofKey('its signature after one by another key', true, { change: (own) => `${byKey(otherKey)} ${own}` }),
  ofKey('a signature by another key', false, { key: otherKey }),
  ofKey('a good signature by the secret alone', false, { change: () => bySecret }),
  ofKey('the signature under the name of the other scheme', false, {
    change: (own) => own.replace('v1a,', 'v1,'),
  }),
  ofKey('a signature over another body', false, { signedBody: `${BODY} ` }),
  ofKey('a signature over another id', false, { signedId: 'evt_other' }),
  ofKey('an old request', false, { timestamp: NOW - HOUR }),
  ofKey('a request from the future', false, { timestamp: NOW + HOUR }),
  ofKey('another time than was signed', false, { sentTimestamp: String(NOW - 1) }),
  ofKey('a time that is none', false, { sentTimestamp: 'yesterday' }),
  ofKey('no id', false, { missing: 0 }),
  ofKey('no time', false, { missing: 1 }),
  ofKey('no signature', false, { missing: 2 }),
  ofKey('a shorter signature', false, { change: (own) => own.slice(0, 40) }),
  ofKey('an empty signature', false, { change: () => 'v1a,' }),
  ofKey('letters beyond ASCII', false, { change: () => `v1a,${'ü'.repeat(86)}==` }),
];

describe("the signature page's snippet", () => {
  for (const runtime of RUNTIMES) {
    const title = `in ${runtime.language} accepts what is genuine and nothing else`;
    const provided = toolchainOf(runtime);
    const check = 'program' in provided ? it : it.skip;
    if ('refusal' in provided) {
      console.warn(`SKIPPED: the signature page's snippet in ${runtime.language}: ${provided.refusal}`);
    }
    check('program' in provided ? title : `${title} (skipped: its programs can't be had here)`, async () => {
      if ('program' in provided) await expectRightVerdicts(runtime, provided.program);
    });
  }
});

function toolchainOf({ language }: Runtime): Provided<Toolchain> {
  if (language === 'js') return { program: { commands: {}, environment: {} } };
  if (language !== 'python') return provideToolchain(language);
  const isInstalled = spawnSync('python3', ['--version']).status === 0;
  return isInstalled ? { program: { commands: {}, environment: {} } } : { refusal: 'there is no python3' };
}

async function expectRightVerdicts(runtime: Runtime, toolchain: Toolchain): Promise<void> {
  const cases = casesFor(runtime);
  const verdicts = await runSnippet(runtime, toolchain, cases);
  expect(verdicts).toEqual(cases.map(({ scheme, what, isGenuine }) => [scheme, what, isGenuine]));
}

function casesFor({ language, keyProbe }: Runtime): readonly Case[] {
  if (!keyProbe || spawnSync(keyProbe[0], keyProbe.slice(1)).status === 0) return allCases;
  console.warn(`SKIPPED: public keys in ${language}, because "${keyProbe.join(' ')}" does not work here.`);
  return allCases.filter(({ scheme }) => scheme !== 'key');
}

async function runSnippet(
  runtime: Runtime,
  toolchain: Toolchain,
  cases: readonly Case[],
): Promise<unknown[]> {
  const folder = await mkdtemp(join(tmpdir(), 'webhooks-snippet-'));
  try {
    await writeFiles(folder, runtime);
    const lines = runCommands(folder, runtime, toolchain, cases).trim().split('\n');
    expect(lines).toHaveLength(cases.length);
    return cases.map(({ scheme, what }, index) => [scheme, what, lines[index] === 'true']);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function writeFiles(folder: string, { language, snippet, checker, otherFiles = {} }: Runtime) {
  const [text] = blocksOf(await readPage('verifying-signatures.md'), language);
  if (text === undefined) throw new Error(`The page has no snippet in ${language}.`);
  await cp(join(__dirname, 'checkers', checker), join(folder, checker));
  for (const [path, content] of Object.entries({ ...otherFiles, [snippet]: text })) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
}

/** @returns the standard output of the last one. */
function runCommands(
  folder: string,
  { commands }: Runtime,
  toolchain: Toolchain,
  cases: readonly Case[],
): string {
  const outputs = commands.map((command) => runWith(toolchain, command, folder, requests(cases)));
  return outputs.at(-1) ?? '';
}

function requests(cases: readonly Case[]): string {
  return cases
    .map(({ scheme, body, headers }) => {
      const cells = [
        scheme,
        scheme === 'key' ? PUBLIC_KEY : SECRET,
        Buffer.from(body).toString('base64'),
        ...headers,
      ];
      return `${cells.map((cell) => cell ?? '-').join('\t')}\n`;
    })
    .join('');
}

function ofBody(what: string, isGenuine: boolean, signature: string | undefined): Case {
  return { what, isGenuine, scheme: 'body', body: BODY, headers: [signature] };
}

interface MessageFault {
  readonly secrets?: readonly string[];
  readonly signedBody?: string;
  readonly signedId?: string;
  readonly timestamp?: number;
  readonly sentTimestamp?: string;
  readonly missing?: number;
  readonly change?: (signature: string) => string;
}

function ofMessage(what: string, isGenuine: boolean, fault: MessageFault): Case {
  const { secrets = [SECRET], signedBody = BODY, signedId = ID, timestamp = NOW } = fault;
  const { sentTimestamp = String(timestamp), missing, change = (signature: string) => signature } = fault;
  const signature = change(signMessage(secrets, { id: signedId, timestamp, body: signedBody }));
  const headers = [ID, sentTimestamp, signature].map((value, index) =>
    index === missing ? undefined : value,
  );
  return { what, isGenuine, scheme: 'message', body: BODY, headers };
}

interface KeyFault extends Omit<MessageFault, 'secrets'> {
  readonly key?: KeyObject;
}

function ofKey(what: string, isGenuine: boolean, fault: KeyFault): Case {
  const { key = privateKey, change = (signature: string) => signature, ...others } = fault;
  const { signedBody = BODY, signedId = ID, timestamp = NOW } = fault;
  const own = byKey(key, `${signedId}.${timestamp}.${signedBody}`);
  return { ...ofMessage(what, isGenuine, { ...others, change: () => change(own) }), scheme: 'key' };
}

function byKey(key: KeyObject, message = `${ID}.${NOW}.${BODY}`): string {
  return `v1a,${sign(null, Buffer.from(message), key).toString('base64')}`;
}

function publicKeyOf(key: KeyObject): string {
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' });
  return `whpk_${Buffer.from(x, 'base64url').toString('base64')}`;
}
