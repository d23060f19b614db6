import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ConsumerProject } from './consumer-project';
import { PROJECT, packPackage } from './pack-package';
import { runWell } from './run-program';

/** What the client depends on. Packed from what is installed here, so that no network is needed. */
const DEPENDENCIES = ['openapi-fetch', 'openapi-typescript-helpers'] as const;

/** A stranger's project with the client as it would be published, and with other packages from the registry. */
export async function installClient(others: Readonly<Record<string, string>> = {}): Promise<ConsumerProject> {
  const { folder, tarball } = await packPackage('client');
  try {
    const packages: Record<string, string> = { ...others, '@hookferry/client': tarball };
    for (const name of DEPENDENCIES) packages[name] = await packInstalled(name, folder);
    return await ConsumerProject.install(packages);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The same with the package for pages. */
export async function installPortal(others: Readonly<Record<string, string>> = {}): Promise<ConsumerProject> {
  const { folder, tarball } = await packPackage('portal');
  try {
    return await installClient({ ...others, '@hookferry/portal': tarball });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function packInstalled(name: string, into: string): Promise<string> {
  const source = join(PROJECT, 'node_modules', name);
  await runWell('npm', ['pack', '--ignore-scripts', '--pack-destination', into], source);
  const archive = (await readdir(into)).find((file) => file.startsWith(`${name}-`) && file.endsWith('.tgz'));
  if (archive === undefined) throw new Error(`npm pack left no tarball of ${name} in ${into}.`);
  return join(into, archive);
}
