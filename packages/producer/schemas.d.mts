export * from './dist/schemas.js';
