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
import { addVerifyEndpoint } from './verify-endpoint';

export function addEndpoints(program: Command, cli: Cli): void {
  const webhooks = program
    .command('webhooks')
    .description('Webhooks: register, list, change and remove them.');
  addListEndpoints(webhooks, cli);
  addCreateEndpoint(webhooks, cli);
  addShowEndpoint(webhooks, cli);
  addUpdateEndpoint(webhooks, cli);
  addSwitchEndpoint(webhooks, cli);
  addDeleteEndpoint(webhooks, cli);
  addEndpointSecrets(webhooks, cli);
  addTestEndpoint(webhooks, cli);
  addVerifyEndpoint(webhooks, cli);
}
