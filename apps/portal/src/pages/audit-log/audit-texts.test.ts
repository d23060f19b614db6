import { actorText, nameOfActor } from './audit-texts';

it.each([
  [{ type: 'portal_session', id: 's1', label: 'Ada' }, 'Ada', 'Ada'],
  [{ type: 'portal_session', id: 's1' }, undefined, 'Session s1'],
  [{ type: 'api_key', id: 'k1', name: 'backend' }, 'backend', 'backend'],
  [{ type: 'api_key', id: 'k1' }, undefined, 'API key k1'],
  [
    { type: 'admin_command', command: 'keys list', system_user: 'root' },
    'root, by keys list',
    'root, by keys list',
  ],
  [{ type: 'anonymous' }, 'Unknown', 'Unknown'],
] as const)('names %j, and tells its id only where it has no name', (actor, name, text) => {
  expect([nameOfActor(actor), actorText(actor)]).toEqual([name, text]);
});
