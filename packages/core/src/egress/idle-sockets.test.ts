import { PassThrough } from 'node:stream';
import { IdleSockets } from './idle-sockets';

const openSockets = (count: number) => Array.from({ length: count }, () => new PassThrough());
const areClosed = (sockets: readonly PassThrough[]) => sockets.map(({ destroyed }) => destroyed);

it('closes the connection that has waited longest when there are too many', () => {
  const idle = new IdleSockets(2);
  const sockets = openSockets(4);
  for (const socket of sockets) idle.add(socket);
  expect(areClosed(sockets)).toEqual([true, true, false, false]);
});

it('leaves alone what is in use again', () => {
  const idle = new IdleSockets(2);
  const sockets = openSockets(3);
  const [first, second, third] = sockets as [PassThrough, PassThrough, PassThrough];
  idle.add(first);
  idle.add(second);
  idle.remove(first);
  idle.add(third);
  expect(areClosed(sockets)).toEqual([false, false, false]);
  idle.add(first);
  expect(areClosed(sockets)).toEqual([false, true, false]);
});

it('does not count what has closed by itself', async () => {
  const idle = new IdleSockets(2);
  const sockets = openSockets(3);
  const [first, second, third] = sockets as [PassThrough, PassThrough, PassThrough];
  idle.add(first);
  idle.add(second);
  await new Promise((resolve) => second.once('close', resolve).destroy());
  idle.add(third);
  expect(areClosed(sockets)).toEqual([false, true, false]);
});

it('listens to a connection once, however often it becomes idle', () => {
  const idle = new IdleSockets(2);
  const socket = new PassThrough();
  const before = socket.listenerCount('close');
  for (let i = 0; i < 20; i += 1) {
    idle.add(socket);
    idle.remove(socket);
  }
  expect(socket.listenerCount('close')).toBe(before + 1);
});
