/** Of this service. All packages have the same: a test compares. */
export const VERSION = '0.1.0';
