import { z } from 'zod';
import { pageOf, presentPage } from '../http/page';
import { defineRoute } from '../http/route';

const sourceAddressesSchema = pageOf(
  z.string().meta({ example: '203.0.113.0/28' }).describe('A range in CIDR notation.'),
  'SourceAddressPage',
);

/** A receiver's network team has no key of the service, and the ranges are no secret: each delivery shows one. */
export const readSourceAddresses = defineRoute({
  operationId: 'readSourceAddresses',
  summary: 'List the addresses that deliveries come from',
  method: 'get',
  path: '/v1/source-addresses',
  scope: 'none',
  isPublic: true,
  request: {},
  responses: {
    200: {
      description: 'The ranges of addresses, to allow in a firewall. None: the operator has set none.',
      schema: sourceAddressesSchema,
    },
  },
  async handle(_request, { config }) {
    return {
      status: 200,
      headers: { 'cache-control': 'public, max-age=3600' },
      body: presentPage(config.SOURCE_ADDRESSES, undefined),
    };
  },
});
