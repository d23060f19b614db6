export * from './dist/fetch.js';
