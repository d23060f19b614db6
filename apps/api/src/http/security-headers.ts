import helmet from 'helmet';

/** For answers that are data: a browser that is led to one may load, run and frame nothing. */
export const securityHeaders = helmet({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: { 'default-src': ["'none'"], 'frame-ancestors': ["'none'"] },
  },
  xFrameOptions: { action: 'deny' },
  // What else lives below this host's name is not ours to decide.
  strictTransportSecurity: { includeSubDomains: false },
  // What they are about, pages and browsers of long ago, is not here; each would go out with each answer.
  originAgentCluster: false,
  xDnsPrefetchControl: false,
  xDownloadOptions: false,
  xPermittedCrossDomainPolicies: false,
  xXssProtection: false,
});
