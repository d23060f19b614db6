export * from './dist/public-keys.js';
