import type { Command } from 'commander';
import type { Cli } from '../../cli';
import { addCreateEndpoint } from './create-endpoint';
import { addDeleteEndpoint } from './delete-endpoint';
import { addEndpointSecrets } from './endpoint-secrets';
import { addListEndpoints } from './list-endpoints';
import { addShowEndpoint } from './show-endpoint';
import { addSwitchEndpoint } from './switch-endpoint';
import { addTestEndpoint } from './test-endpoint';
import { addUpdateEndpoint } from './update-endpoint';

export function addEndpoints(program: Command, cli: Cli): void {
  const endpoints = program
    .command('endpoints')
    .description('Where events are delivered to. The API calls them webhooks.');
  addListEndpoints(endpoints, cli);
  addCreateEndpoint(endpoints, cli);
  addShowEndpoint(endpoints, cli);
  addUpdateEndpoint(endpoints, cli);
  addSwitchEndpoint(endpoints, cli);
  addDeleteEndpoint(endpoints, cli);
  addEndpointSecrets(endpoints, cli);
  addTestEndpoint(endpoints, cli);
}
