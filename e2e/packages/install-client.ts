import { installPackages, packPackage } from './pack-package';

const PACKAGES = [
  'packages/client',
  'node_modules/openapi-fetch',
  'node_modules/openapi-typescript-helpers',
] as const;

/** Installs the client as it would be published, and what it depends on, from tarballs. */
export async function installClient(into: string): Promise<void> {
  const tarballs: string[] = [];
  for (const folder of PACKAGES) tarballs.push(await packPackage(folder, into));
  await installPackages(into, tarballs);
}
