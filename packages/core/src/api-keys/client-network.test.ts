import { clientNetworkOf } from './client-network';

describe('clientNetworkOf', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:db8:1:2::1', '2001:db8:1:2'],
    ['::1', '0:0:0:0'],
    ['a text', 'unknown'],
    [undefined, 'unknown'],
  ])('puts %s with %s', (address, network) => {
    expect(clientNetworkOf(address)).toBe(network);
  });
});
