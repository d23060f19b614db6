/**
 * The receivers as a process of their own, for benchmarks: it tells its parent which kinds there are, and starts
 * and closes them as it is told.
 */
import { CertificateAuthority, hasOpenssl } from '@hookferry/core/testing/certificate-authority';
import { receiverKinds } from './catalogue';
import type { Authorities, StartedReceiver } from './receiver-kind';

type Command = { readonly do: 'start' | 'close'; readonly name: string };

const authorities: Authorities | undefined = hasOpenssl
  ? { trusted: new CertificateAuthority(), unknown: new CertificateAuthority() }
  : undefined;
const kinds = receiverKinds.filter(({ needsTls }) => hasOpenssl || !needsTls);
const started = new Map<string, StartedReceiver>();

process.on('message', (command: Command) => void obey(command).then((reply) => process.send?.(reply)));
process.on('disconnect', () => {
  authorities?.trusted.remove();
  authorities?.unknown.remove();
  process.exit();
});
process.send?.({
  kinds: kinds.map(({ name, outcome, endedBy, requestBytes }) => ({ name, outcome, endedBy, requestBytes })),
  trustedFile: authorities?.trusted.certFile,
});

async function obey({ do: task, name }: Command): Promise<{ url: string | undefined }> {
  if (task === 'start') {
    const receiver = await kinds.find((kind) => kind.name === name)?.start(authorities);
    if (receiver) started.set(name, receiver);
    return { url: receiver?.url };
  }
  await started.get(name)?.close();
  return { url: undefined };
}
