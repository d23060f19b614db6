export * from './dist/contract.js';
