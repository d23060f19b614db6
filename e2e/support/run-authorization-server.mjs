// A process of its own: oidc-provider is an ES module. The clients are in its first argument; it tells its parent where it
// listens, and of each token request.
import { Provider } from 'oidc-provider';

const { clients, lifetime } = JSON.parse(process.argv[2]);
const provider = new Provider('http://127.0.0.1', {
  clients: clients.map((client) => ({
    redirect_uris: [],
    response_types: [],
    grant_types: ['client_credentials'],
    ...client,
  })),
  scopes: ['hooks', 'more'],
  clientAuthMethods: ['client_secret_basic', 'private_key_jwt'],
  enabledJWA: { clientAuthSigningAlgValues: ['RS256', 'PS256', 'ES256', 'ES384', 'ES512', 'EdDSA'] },
  extraParams: ['audience'],
  features: {
    clientCredentials: { enabled: true },
    introspection: { enabled: true, allowedPolicy: () => true },
    devInteractions: { enabled: false },
    resourceIndicators: { enabled: false },
  },
  ttl: { ClientCredentials: lifetime },
});
// What it is asked for decides what it calls itself.
provider.proxy = true;
provider.use(async (context, next) => {
  await next();
  if (context.path !== '/token') return;
  const form = { ...context.oidc?.body };
  process.send({ kind: 'token', status: context.status, form, authorization: context.get('authorization') });
});
const server = provider.listen(0, '127.0.0.1', () =>
  process.send({ kind: 'listening', port: server.address().port }),
);
process.on('disconnect', () => process.exit());
