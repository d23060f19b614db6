import { configPath } from './config-path';

it.each([
  [{}, 'linux', '/home/ada/.config/hookferry/config.json'],
  [{ XDG_CONFIG_HOME: '/etc/of/ada' }, 'linux', '/etc/of/ada/hookferry/config.json'],
  [{ XDG_CONFIG_HOME: 'relative' }, 'darwin', '/home/ada/.config/hookferry/config.json'],
  [{ APPDATA: '/roaming' }, 'win32', '/roaming/hookferry/config.json'],
] as const)('with %p on %s it is %s', (environment, platform, path) => {
  expect(configPath(environment, platform, '/home/ada')).toBe(path);
});
