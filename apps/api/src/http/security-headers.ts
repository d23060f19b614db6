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
});
