export * from './dist/express.js';
