import type { Socket } from 'node:net';

const DRIP_EVERY_MS = 50;

/** Writes a piece every now and then, until the connection is closed. */
export function drip(socket: Socket, piece: string): void {
  const timer = setInterval(() => socket.write(piece), DRIP_EVERY_MS);
  socket.once('close', () => clearInterval(timer));
}

/** Writes a piece again and again, as fast as it is taken, until the connection is closed. */
export function flood(socket: Socket, piece: string | Buffer): void {
  const write = () => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on('drain', write);
  write();
}
