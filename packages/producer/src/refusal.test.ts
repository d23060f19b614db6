import { ReplyError } from 'ioredis';
import { refusalIn } from './refusal';

const reply = (message: string): Error => new ReplyError(message) as Error;

it.each([
  'WRONGPASS invalid username-password pair or user is disabled.',
  'NOAUTH Authentication required.',
  "NOPERM this user has no permissions to run the 'evalsha' command",
  "OOM command not allowed when used memory > 'maxmemory'.",
])('takes for a refusal: %s', (message) => {
  const refusal = reply(message);
  expect(refusalIn(refusal)).toBe(refusal);
  expect(refusalIn(Object.assign(new Error('all failed'), { lastNodeError: refusal }))).toBe(refusal);
});

it.each([
  'LOADING Redis is loading the dataset in memory',
  "READONLY You can't write against a read only replica.",
  'MASTERDOWN Link with MASTER is down',
  'CLUSTERDOWN Hash slot not served',
  'ERR max number of clients reached',
])('takes for something that passes: %s', (message) => {
  expect(refusalIn(reply(message))).toBeUndefined();
});

it.each([[new Error('connect ECONNREFUSED')], [undefined], [null]])('takes for no reply: %s', (error) => {
  expect(refusalIn(error)).toBeUndefined();
});
