using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text;
using System.Threading.Tasks;
using static Hookferry.Tests.Program;

namespace Hookferry.Tests
{
    using Case = Dictionary<string, object>;

    /// <summary>
    /// Every case of conformance/: what receivers in all languages check and read alike. Runs in the folder of the package.
    /// asymmetric.json is left out: .NET has no Ed25519.
    /// </summary>
    internal static class ConformanceTest
    {
        private const string Strange = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

        public static void Signatures()
        {
            foreach (var each in Cases("signatures.json", 50)) CheckSignature(each);
        }

        private static void CheckSignature(Case each)
        {
            var (name, body, headers) = (Text(each, "name"), Convert.FromBase64String(Text(each, "body_base64")), HeadersOf(each));
            var found = new object[] { "ok", null, null };
            try
            {
                ReceiverOf(each).VerifySignature(body, headers);
            }
            catch (VerificationException error)
            {
                found = new object[] { error.Code, error.Header, error.SkewSeconds };
            }
            Same(new[] { Member(each, "expect"), Member(each, "header"), Member(each, "skew") }, found, name);
            if (!Equals(found[0], "ok")) return;
            // The corpus is about signatures, so some bodies in it are no events.
            var looksLikeEvent = Encoding.UTF8.GetString(body).StartsWith("{\"type\":", StringComparison.Ordinal);
            var expected = Text(each, "payload") ?? (looksLikeEvent ? "ok" : "invalid_payload");
            Same(expected, Ending(() => ReceiverOf(each).Verify(body, headers)), name + ", the payload");
        }

        private static Receiver ReceiverOf(Case each) => new Receiver(new ReceiverOptions
        {
            Secrets = ((List<object>)each["secrets"]).Cast<string>().ToList(),
            Tolerance = TimeSpan.FromSeconds((long)(Member(each, "tolerance") ?? 300L)),
            Now = At((long)each["now"]),
        });

        public static void Events()
        {
            foreach (var each in Cases("events.json", 30)) CheckEvents(each);
        }

        private static void CheckEvents(Case each)
        {
            var (name, text) = (Text(each, "name"), Text(each, "body"));
            var body = Encoding.UTF8.GetBytes(text);
            var headers = HeadersOf(each).Concat(Signed(Text(each, "id"), text, (bool)each["service"])).ToList();
            var options = new ReceiverOptions { Secrets = new[] { Secret }, BinaryCloudEvents = (bool)each["binary"] };
            var receiver = new Receiver(options);
            if (Equals(each["expect"], "invalid_payload"))
            {
                Same("invalid_payload", Ending(() => receiver.VerifyEvents(body, headers)), name);
                return;
            }
            var request = receiver.VerifyEvents(body, headers);
            var found = new Case { { "is_batch", request.IsBatch }, { "events", request.Events.Select(Presented).ToList() } };
            Same(each["expect"], found, name);
            // One event is what Verify() gives, and no list.
            var alone = Ending(() => Same(Presented(request.Events[0]), Presented(receiver.Verify(body, headers)), name));
            Same(request.IsBatch ? "invalid_payload" : "ok", alone, name);
        }

        private static Case Presented(WebhookEvent each)
        {
            var shown = new Case { { "type", each.Type }, { "data", each.Data } };
            if (each.Id != null) shown.Add("id", each.Id);
            if (each.AcceptedAt != null) shown.Add("accepted_at", each.AcceptedAt);
            if (each.CloudEvent != null) shown.Add("cloudevent", each.CloudEvent);
            return shown;
        }

        public static void Requests()
        {
            foreach (var each in Cases("requests.json", 15)) CheckRequest(each);
        }

        private static void CheckRequest(Case each)
        {
            var (sent, request, now) = ((Case)each["event"], (Case)each["request"], (long)each["now"]);
            var (name, headers) = (Text(each, "name"), HeadersOf(request));
            var body = Convert.FromBase64String(Text(request, "body_base64"));
            var secrets = ((List<object>)((Case)each["webhook"])["secrets"]).Cast<Case>().ToList();
            var strange = new Case { { "secret", Strange }, { "expires_at", now } };
            foreach (var secret in secrets.Concat(new[] { strange }))
            {
                var receiver = new Receiver(new ReceiverOptions { Secrets = new[] { Text(secret, "secret") }, Now = At(now) });
                if ((long)(Member(secret, "expires_at") ?? now + 1) <= now)
                {
                    Same("no_match", Ending(() => receiver.Verify(body, headers)), name);
                    continue;
                }
                var read = receiver.Verify(body, headers);
                Same(new[] { sent["id"], sent["type"], now }, new object[] { read.Id, read.Type, read.Timestamp?.ToUnixTimeSeconds() }, name);
                // Data are as they were published, byte for byte.
                Same(Text(sent, "data_text").Trim(), read.DataJson, name);
            }
            var settings = (Case)each["settings"];
            var plain = new Receiver(new ReceiverOptions
            {
                Secrets = new[] { Text(secrets[0], "secret") },
                ServiceHeader = Text(settings, "signature_header"),
                ServicePrefix = Text(settings, "signature_prefix"),
            });
            Same(sent["type"], plain.Verify(body, headers.Where(header => header.Key != "webhook-signature")).Type, name);
        }

        private sealed class BusyStore : IDedupeStore
        {
            public Task<Claim> ClaimAsync(string id, TimeSpan lease) => Task.FromResult(Claim.Busy);
            public Task CommitAsync(string id) => throw new InvalidOperationException("not for one who is busy");
            public Task ReleaseAsync(string id) => throw new InvalidOperationException("not for one who is busy");
        }

        public static void Limits()
        {
            var receiver = new Receiver(new ReceiverOptions { Secrets = new[] { Secret }, Dedupe = new BusyStore() });
            var busy = receiver.ReceiveAsync(Encoding.UTF8.GetBytes(Order), Signed("evt_1", Order),
                _ => Task.FromResult<WebhookResponse>(null)).Result;
            Same(JsonReader.Parse(File.ReadAllText("../../conformance/receivers.json")).Plain(), new Case
            {
                { "max_body_bytes", Receiver.DefaultMaxBytes },
                { "lease_seconds", Receiver.DefaultLease.TotalSeconds },
                { "remembered_seconds", MemoryStore.DefaultRemembered.TotalSeconds },
                { "busy", new Case { { "status", busy.Status }, { "retry_after_seconds", long.Parse(busy.Headers["retry-after"]) } } },
            }, "limits");
        }

        private static List<Case> Cases(string name, int least)
        {
            var file = (Case)JsonReader.Parse(File.ReadAllText("../../conformance/" + name)).Plain();
            var cases = ((List<object>)file["cases"]).Cast<Case>().ToList();
            Same(true, cases.Count >= least, "the number of cases in " + name);
            return cases;
        }

        private static List<KeyValuePair<string, string>> HeadersOf(Case each) =>
            ((Case)each["headers"]).Select(header => new KeyValuePair<string, string>(header.Key, (string)header.Value)).ToList();

        private static object Member(Case each, string name) => each.TryGetValue(name, out var value) ? value : null;

        private static string Text(Case each, string name) => (string)Member(each, name);

        private static Func<DateTimeOffset> At(long seconds) => () => DateTimeOffset.FromUnixTimeSeconds(seconds);
    }
}
