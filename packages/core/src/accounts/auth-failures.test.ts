import { clientNetworksOf } from './auth-failures';

describe('clientNetworksOf', () => {
  it.each([
    ['192.0.2.7', ['c0000207/32', 'c00002/24']],
    ['::ffff:192.0.2.7', ['c0000207/32', 'c00002/24']],
    ['2001:db8:1:2:3:4:5:6', ['20010db800010002/64', '20010db80001/48']],
    ['2001:db8:1:2::1', ['20010db800010002/64', '20010db80001/48']],
    ['2001:db8:1:3::1', ['20010db800010003/64', '20010db80001/48']],
    ['::1', ['0000000000000000/64', '000000000000/48']],
    ['a text', ['unknown']],
    [undefined, ['unknown']],
  ])('puts %s into its networks', (address, names) => {
    expect(clientNetworksOf(address).map(({ name }) => name)).toEqual(names);
  });
});
