import { chmod, mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { findClosedPort } from '@hookferry/core/testing/local-server';
import { openTestRedis } from '@hookferry/core/testing/test-redis';
import { ENDED_WELL, exerciseImages, type Target } from './exercise-images';
import {
  DockerfileFollower,
  type Image,
  type ImageFile,
  listFiles,
  readDockerIgnore,
} from './follow-dockerfile';
import { canConfine, ImageProcess } from './image-process';
import { provideNpmOfImage } from './npm-of-image';
import { readDockerfile } from './read-dockerfile';

const PROJECT = join(__dirname, '..', '..');
const TARGETS: readonly Target[] = ['api', 'worker'];
const COMMIT = '86ae8b4799f4f9edfba1771c8b164806acef3368';

/** The apps in each image: the command line comes with the API. */
const APPS: Readonly<Record<Target, readonly string[]>> = {
  api: ['apps/api', 'apps/admin'],
  worker: ['apps/worker'],
};

/** What browsers load: pages, styles, scripts and the mark, each as it is and compressed twice; and what /receive and /openapi.json are made of. */
const SERVED =
  /^app\/(apps\/portal\/dist\/(assets\/[\w.-]+\.(js|css|svg)|index\.html)(\.br|\.gz)?|docs\/(receive\.md|verifying-signatures\.md|openapi\.json)|docs\/images\/mark\.svg)$/;

// The page at /docs. The packages that it was made of stay outside.
const BUNDLE = 'app/node_modules/redoc/bundles/redoc.standalone.js';

const PASSED_ON_TO_NPM =
  /^(HOME|NODE_EXTRA_CA_CERTS|https?_proxy|no_proxy|npm_config_(registry|cache|cafile|userconfig|globalconfig))$/i;

// It installs the dependencies twice, and compiles.
const BUILD_TIMEOUT_MS = 600_000;

const isConfined = canConfine();
if (!isConfined) say('not followed: user, read-only file system: that takes root, util-linux and namespaces');

const describeConfined = isConfined ? describe : describe.skip;

interface Built {
  readonly image: Image;
  readonly files: readonly ImageFile[];
}

let folder: string;
/** With `node` in it, and nothing else. */
let programs: string;
const built = {} as Record<Target, Built>;

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'webhooks-images-')));
  // For the images' own user.
  await chmod(folder, 0o755);
  programs = join(folder, 'programs');
  await mkdir(programs);
  await symlink(process.execPath, join(programs, 'node'));
  const npm = await provideNpmOfImage();
  const follower = new DockerfileFollower({
    context: PROJECT,
    dockerfile: 'docker/Dockerfile',
    output: folder,
    args: { REVISION: COMMIT },
    environment: {
      ...npmSettings(process.env),
      PATH: [npm, dirname(process.execPath), '/usr/bin', '/bin'].join(':'),
    },
  });
  for (const target of TARGETS) {
    const image = await follower.build(target);
    const files = await listFiles(image);
    built[target] = { image, files };
    say(`${target}: ${files.length} files, ${megabytes(files)} on top of the base image`);
  }
  say(`of these in layers that both share: ${megabytes(await listFiles(await follower.build('runtime')))}`);
}, BUILD_TIMEOUT_MS);

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe.each(TARGETS)('the %s image', (target) => {
  it('runs its program itself, as a user without rights, set up for production', () => {
    const { command, user, stopSignal, environment, workdir } = built[target].image;
    expect({ command, user, stopSignal, environment, workdir }).toEqual({
      command: ['node', `apps/${target}/dist/main.js`],
      user: '1000:1000',
      stopSignal: 'SIGTERM',
      environment: { NODE_ENV: 'production', HOOKFERRY_REVISION: COMMIT },
      workdir: '/app',
    });
  });

  it('holds no development dependency, but for one bundled file', async () => {
    const development = await readDevelopmentDependencies();
    const files = built[target].files.filter(({ path }) => path !== BUNDLE);
    const installed = new Set(files.map(({ path }) => packageOf(path)));
    expect([...development].filter((name) => installed.has(name))).toEqual([]);
  });

  it('holds no source, test or other app, only what is compiled and the data that comes with it', () => {
    const own = built[target].files.filter(
      ({ path }) => !path.includes('node_modules/') && !(target === 'api' && SERVED.test(path)),
    );
    const folders = ['packages/core', 'packages/producer', ...APPS[target]].join('|');
    // npm wants to see the manifest of every workspace.
    const expected = new RegExp(
      `^app/((${folders})/dist/.+\\.js|apps/api/dist/openapi/answer-examples\\.json|apps/admin/dist/(explanations|capacity-figures)\\.json|(packages|apps)/[a-z]+/package\\.json)$`,
    );
    expect(
      own
        .filter(({ path }) => !expected.test(path) || /\.test\.|\/testing\//.test(path))
        .map(({ path }) => path),
    ).toEqual([]);
  });

  it('holds the portal if it serves it', () => {
    const index = built[target].files.filter(({ path }) => path === 'app/apps/portal/dist/index.html');
    expect(index).toHaveLength(target === 'api' ? 1 : 0);
  });

  it('has no link that leads out of it', async () => {
    const { image, files } = built[target];
    const links = files.filter(({ isLink }) => isLink);
    const ends = await Promise.all(links.map(({ path }) => realpath(join(image.root, path))));
    expect(ends.filter((end) => !end.startsWith(`${image.root}/`))).toEqual([]);
  });

  it('can be read by any user', () => {
    expect(built[target].files.filter(({ mode }) => (mode & 0o004) === 0)).toEqual([]);
  });
});

describe('the build', () => {
  it.each([
    '.env',
    'apps/api/.env.local',
    '.git/config',
    'tools/start.mjs',
    'node_modules/express/index.js',
    'packages/core/node_modules/lru-cache/index.js',
    'packages/core/dist/a.js',
    'packages/core/src/deep/a.test.ts',
    'packages/core/src/testing/test-redis.ts',
  ])('is not sent %s', async (path) => {
    const isIgnored = readDockerIgnore(await readFile(join(PROJECT, '.dockerignore'), 'utf8'));
    expect([path, isIgnored(path)]).toEqual([path, true]);
  });

  it('knows the manifest of every workspace', async () => {
    const stages = readDockerfile(await readFile(join(PROJECT, 'docker/Dockerfile'), 'utf8'));
    const manifests = stages.find(({ name }) => name === 'manifests');
    const copied = manifests?.instructions.flatMap((step) => (step.kind === 'copy' ? step.sources : []));
    expect(copied).toEqual(expect.arrayContaining(await workspaceManifests()));
  });
});

describe('the api and worker images together', () => {
  const running: { stop(): Promise<unknown> }[] = [];

  // Also after a time-out: what then still asks a process for something gets its end from this.
  afterEach(async () => {
    await Promise.all(running.splice(0).map((part) => part.stop()));
  });

  describeConfined('confined', () => {
    it('run where nothing can be written', async () => {
      const redis = await openTestRedis();
      running.push({ stop: () => redis.close() });
      const port = await findClosedPort();
      const worker = await start('worker', port, {
        REDIS_URL: redis.url,
        INSECURE_UNENCRYPTED_SECRETS: 'true',
        WORKER_PORT: String(port),
      });
      const write = (path: string) =>
        worker.run(['node', '-e', `require('fs').writeFileSync('${path}', '')`]);
      const inImage = join(built.worker.image.root, 'app/written');
      expect(await Promise.all([write(inImage), write('/tmp/written'), write('/dev/null')])).toEqual([
        1, 1, 0,
      ]);
      expect(await worker.run(['node', '-e', 'process.exit(process.getuid() === 1000 ? 0 : 1)'])).toBe(0);
    });
  });

  it('deliver an event, are healthy, and stop when they are told to', async () => {
    expect(await exerciseImages({ start, running })).toEqual(ENDED_WELL);
  });

  async function start(target: Target, port: number, environment: Readonly<Record<string, string>>) {
    const process = new ImageProcess({
      image: built[target].image,
      path: programs,
      environment,
      confinement: isConfined ? 'machine' : 'none',
    });
    running.push(process);
    await process.waitUntilReady(port);
    return process;
  }
});

function packageOf(path: string): string | undefined {
  return /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1];
}

function megabytes(files: readonly ImageFile[]): string {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Where npm finds its registry and its cache on this machine; nothing else of our environment. */
function npmSettings(environment: NodeJS.ProcessEnv): Record<string, string> {
  // What is in the cache already need not be asked for again.
  const settings: Record<string, string> = { npm_config_prefer_offline: 'true' };
  for (const [name, value] of Object.entries(environment)) {
    if (value !== undefined && PASSED_ON_TO_NPM.test(name)) settings[name] = value;
  }
  return settings;
}

/** The packages that development needs and production does not. */
async function readDevelopmentDependencies(): Promise<ReadonlySet<string>> {
  const folders = ['.', ...(await workspaceManifests()).map(dirname)];
  const manifests = await Promise.all(folders.map((path) => readManifest(join(PROJECT, path))));
  const production = new Set(manifests.flatMap(({ dependencies = {} }) => Object.keys(dependencies)));
  const development = manifests.flatMap(({ devDependencies = {} }) => Object.keys(devDependencies));
  return new Set(development.filter((name) => !production.has(name)));
}

/** The path of the manifest of every workspace, from the root of the project. */
async function workspaceManifests(): Promise<string[]> {
  const { workspaces = [] } = await readManifest(PROJECT);
  const manifests = await Promise.all(
    workspaces.map(async (pattern) => {
      const parent = pattern.replace(/\/\*$/, '');
      const names = await readdir(join(PROJECT, parent));
      return names.map((name) => `${parent}/${name}/package.json`);
    }),
  );
  const exist = await Promise.all(
    manifests.flat().map(async (path) => ((await isFile(join(PROJECT, path))) ? path : undefined)),
  );
  return exist.filter((path) => path !== undefined);
}

async function isFile(path: string): Promise<boolean> {
  return await stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

interface Manifest {
  readonly workspaces?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

async function readManifest(packageFolder: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(packageFolder, 'package.json'), 'utf8')) as Manifest;
}
