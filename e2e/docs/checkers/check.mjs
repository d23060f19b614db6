import { createInterface } from 'node:readline';
import { verifyBody, verifyMessage, verifyWithKey } from './snippet.mjs';

const functions = { body: verifyBody, message: verifyMessage, key: verifyWithKey };

for await (const line of createInterface({ input: process.stdin })) {
  const [scheme, secret, body, ...headers] = line
    .split('\t')
    .map((cell) => (cell === '-' ? undefined : cell));
  console.log(functions[scheme](secret, Buffer.from(body, 'base64'), ...headers));
}
