import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { BUNDLED } from '../../tools/lock-file.mjs';

const PROJECT = resolve(__dirname, '../..');

const lockSchema = z.looseObject({
  packages: z.record(
    z.string(),
    z.looseObject({
      version: z.string().optional(),
      integrity: z.string().optional(),
      license: z.string().optional(),
      resolved: z.string().optional(),
      dev: z.boolean().optional(),
      link: z.boolean().optional(),
    }),
  ),
});
type Lock = z.infer<typeof lockSchema>;

let folder: string;
let lock: Lock;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'webhooks-dependencies-'));
  lock = lockSchema.parse(JSON.parse(await readFile(join(PROJECT, 'package-lock.json'), 'utf8')));
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe('npm run check:dependencies', () => {
  it('finds nothing wrong with the lock file, without a network', async () => {
    expect(await check(lock)).toEqual({ code: 0, faults: [] });
  });

  it('names each package without integrity, those for other platforms too', async () => {
    const changed = structuredClone(lock);
    for (const path of ['node_modules/express', 'node_modules/@esbuild/darwin-arm64'])
      delete changed.packages[path]?.integrity;
    expect(await check(changed)).toEqual({
      code: 1,
      faults: [
        expect.stringMatching(/^node_modules\/@esbuild\/darwin-arm64 \(\S+\) has no integrity/),
        expect.stringMatching(/^node_modules\/express \(\S+\) has no integrity/),
      ],
    });
  });

  it('does not take an integrity that can be forged', async () => {
    const faults = await faultsWith('express', { integrity: 'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=' });
    expect(faults).toEqual([expect.stringContaining('has no integrity of SHA-512')]);
  });

  it('names each package that says where it is fetched from', async () => {
    const resolved = 'https://packages.example.com/express.tgz';
    const faults = await faultsWith('express', { resolved });
    expect(faults).toEqual([expect.stringMatching(`names the host to fetch it from: ${resolved}$`)]);
  });

  it.each(['GPL-3.0-only', 'SEE LICENSE IN LICENSE', 'MIT AND GPL-2.0-only', undefined])(
    'refuses the licence %s in production',
    async (license) => {
      const faults = await faultsWith('express', { license });
      expect(faults).toEqual([expect.stringContaining(`has the licence ${license ?? '(none given)'}`)]);
    },
  );

  it('refuses such a licence in what the images have of the packages for development', async () => {
    const faults = await faultsWith('react', { license: 'GPL-3.0-only' });
    expect(faults).toEqual([expect.stringContaining('has the licence GPL-3.0-only')]);
    expect(await faultsWith('jest', { license: 'GPL-3.0-only' })).toEqual([]);
  });

  it.each(['(MIT OR GPL-3.0-only)', 'Apache-2.0 AND MIT'])('takes the licence %s', async (license) => {
    expect(await faultsWith('express', { license })).toEqual([]);
  });
});

describe('npm run sbom', () => {
  it('lists all packages of production, and of the others what is shipped, without a network', async () => {
    const file = join(folder, 'sbom.json');
    await promisify(execFile)(process.execPath, [join(PROJECT, 'tools/sbom.mjs'), file], {
      cwd: PROJECT,
      env: { ...process.env, npm_config_offline: 'true' },
    });
    const sbom = sbomSchema.parse(JSON.parse(await readFile(file, 'utf8')));
    const listed = sbom.components.map((component) => component['bom-ref']);
    const own = listed.filter((ref) => /^(@hookferry\/|hookferry-server@)/.test(ref));
    const bundled = BUNDLED.map((name) => `${name}@${lock.packages[`node_modules/${name}`]?.version}`);
    expect([...new Set(listed)].sort()).toEqual([...own, ...bundled, ...productionOf(lock)].sort());
    expect(own).toHaveLength(12);
    expect(sbom.metadata.component.name).toBe('hookferry');
    const known = new Set([sbom.metadata.component['bom-ref'], ...listed]);
    const referred = sbom.dependencies.flatMap(({ ref, dependsOn }) => [ref, ...dependsOn]);
    expect(referred.filter((ref) => !known.has(ref))).toEqual([]);
  });
});

const componentSchema = z.object({ 'bom-ref': z.string(), name: z.string(), purl: z.string() });
const sbomSchema = z.object({
  bomFormat: z.literal('CycloneDX'),
  specVersion: z.string(),
  serialNumber: z.string().startsWith('urn:uuid:'),
  metadata: z.object({ component: componentSchema }),
  components: z.array(componentSchema),
  dependencies: z.array(z.object({ ref: z.string(), dependsOn: z.array(z.string()) })),
});

/** Name and version of each. */
function productionOf({ packages }: Lock): string[] {
  const labels = Object.entries(packages)
    .filter(([path, { link, dev }]) => path.includes('node_modules/') && link !== true && dev !== true)
    .map(([path, { version }]) => `${path.slice(path.lastIndexOf('node_modules/') + 13)}@${version}`);
  return [...new Set(labels)];
}

async function faultsWith(name: string, change: Lock['packages'][string]): Promise<string[]> {
  const path = `node_modules/${name}`;
  const packages = { ...lock.packages, [path]: { ...lock.packages[path], ...change } };
  return (await check({ ...lock, packages })).faults;
}

async function check(checked: Lock): Promise<{ code: number; faults: string[] }> {
  const file = join(folder, 'lock.json');
  await writeFile(file, JSON.stringify(checked));
  return await new Promise((settle) => {
    const args = [join(PROJECT, 'tools/check-dependencies.mjs'), '--lock', file];
    execFile(process.execPath, args, (error, _stdout, stderr) => {
      settle({
        code: typeof error?.code === 'number' ? error.code : 0,
        faults: stderr.split('\n').filter((line) => line !== ''),
      });
    });
  });
}
