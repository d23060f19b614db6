using System;
using System.Collections.Generic;
using System.Linq;
using System.Text.RegularExpressions;

namespace Hookferry
{
    /// <summary>The headers of a request, with names in any case.</summary>
    internal sealed class Headers
    {
        private readonly IEnumerable<KeyValuePair<string, string>> headers;

        internal Headers(IEnumerable<KeyValuePair<string, string>> headers)
        {
            this.headers = headers;
        }

        /// <summary>
        /// Null where it is missing. Refused if it came more than once, because either value may be the wrong one.
        /// </summary>
        internal string Read(string name)
        {
            var values = headers.Where(each => string.Equals(each.Key, name, StringComparison.OrdinalIgnoreCase))
                .Select(each => each.Value).ToList();
            // Proxies join the values by ", ". No value of the service has a comma before white space.
            if (values.Count > 1 || (values.Count == 1 && Regex.IsMatch(values[0], ",\\s")))
            {
                throw VerificationException.MissingHeader(name.ToLowerInvariant(),
                    "came more than once: check the proxy in front of this server");
            }
            return values.FirstOrDefault();
        }

        internal string Require(string name)
        {
            var value = Read(name);
            if (!string.IsNullOrEmpty(value)) return value;
            throw VerificationException.MissingHeader(name, "is missing: pass all headers, and check that no proxy removes it");
        }
    }
}
