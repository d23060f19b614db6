import { createInterface } from 'node:readline';
import { verifyBody, verifyMessage } from './snippet.mjs';

for await (const line of createInterface({ input: process.stdin })) {
  const [scheme, secret, body, ...headers] = line
    .split('\t')
    .map((cell) => (cell === '-' ? undefined : cell));
  const verify = scheme === 'body' ? verifyBody : verifyMessage;
  console.log(verify(secret, Buffer.from(body, 'base64'), ...headers));
}
