/** In the place of each style sheet: tests of components are about texts and roles. */
export default {};
