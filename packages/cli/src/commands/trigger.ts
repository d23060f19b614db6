import type { Command } from 'commander';
import { type Cli, connect } from '../cli';
import { parseId, parseList } from '../input/parse-flags';
import { addExample } from './example';
import { publishEvent } from './publish-event';
import { readExample } from './read-example';

interface TriggerFlags {
  readonly to?: readonly string[];
}

export function addTrigger(program: Command, cli: Cli): void {
  const trigger = program
    .command('trigger')
    .description('Publish the example of an event type.')
    .argument('<type>', 'the event type', parseId)
    .option('--to <webhooks>', 'only these webhooks get it: ids or uids, separated by commas', parseList)
    .action(async (type: string, flags: TriggerFlags) => {
      const data = await readExample(type, await connect(cli));
      await publishEvent({ type, data, ...flags }, cli);
    });
  addExample(trigger, 'hookferry trigger order.created');
}
