import { stopInOrder } from './shutdown';

describe('stopInOrder', () => {
  it('stops one after the other, and goes on after one that fails', async () => {
    const told: string[] = [];
    const part = (name: string, stop: () => Promise<void>) => ({
      name,
      async stop() {
        told.push(`${name} told`);
        await stop();
        told.push(`${name} stopped`);
      },
    });
    const failure = new Error('in use');
    const failures: [string, unknown][] = [];

    await stopInOrder(
      [
        part('server', async () => {}),
        part('queue', () => Promise.reject(failure)),
        part('connection', async () => {}),
      ],
      (name, error) => failures.push([name, error]),
    );

    expect(told).toEqual([
      'server told',
      'server stopped',
      'queue told',
      'connection told',
      'connection stopped',
    ]);
    expect(failures).toEqual([['queue', failure]]);
  });
});
