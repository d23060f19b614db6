import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Buildah, describeBuilt } from './buildah';
import { ENDED_WELL, exerciseImages, type Target } from './exercise-images';
import type { Image } from './follow-dockerfile';
import { ImageProcess } from './image-process';

const TARGETS: readonly Target[] = ['api', 'worker'];
const COMMIT = '86ae8b4799f4f9edfba1771c8b164806acef3368';

// It installs the dependencies twice, and compiles.
const BUILD_TIMEOUT_MS = 1_800_000;

describeBuilt('the images that Buildah builds of the Dockerfile', (builder) => {
  const images = {} as Record<Target, Image>;
  const running: { stop(): Promise<unknown> }[] = [];
  let folder: string;

  beforeAll(async () => {
    folder = await realpath(await mkdtemp(join(tmpdir(), 'webhooks-buildah-')));
    const buildah = new Buildah(builder, folder);
    const registry = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim();
    await buildah.importBase();
    for (const target of TARGETS) {
      await buildah.build(target, { NPM_CONFIG_REGISTRY: registry, REVISION: COMMIT });
      images[target] = await buildah.unpack(target);
      const { whole, base } = await buildah.sizesOf(target);
      process.stdout.write(`${target}: ${whole}, of these ${base} in what stands in for the base image\n`);
    }
  }, BUILD_TIMEOUT_MS);

  // Also after a time-out: what then still asks a process for something gets its end from this.
  afterEach(async () => {
    await Promise.all(running.splice(0).map((part) => part.stop()));
  });

  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  it.each(TARGETS)('say that the %s runs its program itself, as a user without rights', (target) => {
    const { command, user, stopSignal, workdir, environment } = images[target];
    expect({ command, user, stopSignal, workdir }).toEqual({
      command: ['node', `apps/${target}/dist/main.js`],
      user: '1000:1000',
      stopSignal: 'SIGTERM',
      workdir: '/app',
    });
    expect(environment).toMatchObject({ NODE_ENV: 'production', HOOKFERRY_REVISION: COMMIT });
  });

  it.each(TARGETS)('leave no secret of the build in the %s', (target) => {
    const secrets = ['root/.npmrc', 'run/secrets/ca'].map((path) => join(images[target].root, path));
    expect(secrets.filter((path) => existsSync(path))).toEqual([]);
    expect(Object.keys(images[target].environment).toSorted()).toEqual([
      'HOOKFERRY_REVISION',
      'NODE_ENV',
      'PATH',
    ]);
  });

  it('run on a read-only file system, deliver an event, are healthy, and stop when they are told to', async () => {
    expect(await exerciseImages({ start, running, look })).toEqual(ENDED_WELL);
  });

  async function look(api: ImageProcess, worker: ImageProcess, apiUrl: string): Promise<void> {
    const statusOf = async (path: string) => [path, (await fetch(`${apiUrl}${path}`)).status];
    const paths = ['/healthz', '/readyz', '/portal/', '/docs', '/receive'];
    expect(await Promise.all(paths.map(statusOf))).toEqual(paths.map((path) => [path, 200]));
    for (const process of [api, worker]) {
      const write = (path: string) => process.run(['sh', '-c', `echo > ${path}`]);
      expect(await Promise.all([write('/dev/null'), write('/tmp/written')])).toEqual([0, 2]);
      expect(await write('/app/written')).toBe(2);
      expect(await process.run(['sh', '-c', 'test "$(id -u):$(id -g)" = 1000:1000'])).toBe(0);
    }
  }

  async function start(target: Target, port: number, environment: Readonly<Record<string, string>>) {
    const process = new ImageProcess({
      image: images[target],
      path: '',
      environment,
      confinement: 'image',
    });
    running.push(process);
    await process.waitUntilReady(port);
    return process;
  }
});
