export * from './dist/fastify.js';
