// @ts-check
/**
 * Runs js-redis-server as a process that takes `--port` and `--databases` as redis-server does and leaves
 * every other setting aside. This is a program: `node javascript-redis-server.mjs <its index.js> --port 6379 …`.
 */
import { Server } from 'node:net';
import { pathToFileURL } from 'node:url';

const [entry = '', ...settings] = process.argv.slice(2);

/** @param {string} name */
const setting = (name) => {
  const at = settings.indexOf(`--${name}`);
  return at === -1 ? undefined : Number(settings[at + 1]);
};

// The library has no option for the address and listens on all of them; nobody but this machine may get in.
/** @type {(...args: any[]) => Server} */
const listen = Reflect.get(Server.prototype, 'listen');
/** @this {Server} @param {unknown[]} args */
Server.prototype.listen = function listenOnLoopback(...args) {
  const [port, ...rest] = args;
  const local = typeof port === 'number' ? [{ port, host: '127.0.0.1' }, ...rest] : args;
  return Reflect.apply(listen, this, local);
};

const { createRedisServer } = await import(pathToFileURL(entry).href);
const server = await createRedisServer({
  port: setting('port') ?? 6379,
  databaseCount: setting('databases') ?? 16,
});
for (const signal of ['SIGTERM', 'SIGINT']) {
  process.once(signal, () => {
    void server.close();
    process.exit(0); // Closing waits for clients that never hang up, and there is nothing to save.
  });
}
