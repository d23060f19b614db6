# frozen_string_literal: true

require_relative "helper"

# Every case of conformance/: what receivers in all languages check and read alike.
class ConformanceTest < Minitest::Test
  FOLDER = File.expand_path("../../../conformance", __dir__)
  STRANGE = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

  def self.cases(name, least)
    cases = JSON.parse(File.read(File.join(FOLDER, name), encoding: "UTF-8"))["cases"]
    raise "#{name} has only #{cases.length} cases" if cases.length < least

    cases
  end

  # This package takes keys, and fetches no sets of them.
  with_keys = cases("asymmetric.json", 50).reject { |each| each.key?("jwks") }
  raise "only #{with_keys.length} cases with keys" if with_keys.length < 30

  [*cases("signatures.json", 50), *with_keys].each do |each|
    define_method("test_signature_#{each["name"]}_#{each.key?("public_keys")}") { check_signature(each) }
  end

  def check_signature(each)
    body = each["body_base64"].unpack1("m")
    found = facts_of(each, body)
    assert_equal [each["expect"], each["header"], each["skew"]], found
    return unless found.first == "ok"

    # The corpus is about signatures, so some bodies in it are no events.
    expected = each["payload"] || (body.start_with?('{"type":') ? "ok" : "invalid_payload")
    assert_equal expected, ending { receiver_of(each).verify(body, each["headers"]) }
  end

  def facts_of(each, body)
    receiver_of(each).verify_signature(body, each["headers"])
    ["ok", nil, nil]
  rescue Hookferry::VerificationError => error
    [error.code.to_s, error.header, error.skew_seconds]
  end

  def receiver_of(each)
    Hookferry::Receiver.new(secrets: each["secrets"] || [], public_keys: each["public_keys"] || [],
                            tolerance_seconds: each["tolerance"] || 300, clock: -> { each["now"] })
  end

  cases("events.json", 30).each do |each|
    define_method("test_event_#{each["name"]}") { check_event(each) }
  end

  def check_event(each)
    headers = { **each["headers"], **signed(each["id"], each["body"], service: each["service"]) }
    receiver = Hookferry::Receiver.new(secret: SECRET, binary_cloud_events: each["binary"])
    verify = -> { receiver.verify_events(each["body"], headers) }
    return assert_equal("invalid_payload", ending(&verify)) if each["expect"] == "invalid_payload"

    request = verify.call
    assert_equal each["expect"], { "is_batch" => request.batch?, "events" => request.events.map { |event| presented(event) } }
    # One event is what `verify` gives, and no list.
    alone = ending { assert_equal request.events, [receiver.verify(each["body"], headers)] }
    assert_equal request.batch? ? "invalid_payload" : "ok", alone
  end

  def presented(event)
    optional = { "id" => event.id, "accepted_at" => event.accepted_at, "cloudevent" => event.cloud_event }.compact
    { "type" => event.type, "data" => event.data, **optional }
  end

  cases("requests.json", 15).each do |each|
    define_method("test_request_#{each["name"]}") { check_request(each) }
  end

  def check_request(each)
    event, now, settings = each.values_at("event", "now", "settings")
    body, headers = each["request"]["body_base64"].unpack1("m"), each["request"]["headers"]
    data = JSON.parse(event["data_text"])
    [*each["webhook"]["secrets"], { "secret" => STRANGE, "expires_at" => now }].each do |secret|
      receiver = Hookferry::Receiver.new(secret: secret["secret"], clock: -> { now })
      if (secret["expires_at"] || now + 1) <= now
        assert_equal("no_match", ending { receiver.verify(body, headers) })
      else
        expected = Hookferry::Event.new(id: event["id"], timestamp: now, type: event["type"], data: data)
        assert_equal expected, receiver.verify(body, headers)
      end
    end
    check_plain(each, body, headers.reject { |name, _| name == "webhook-signature" }, settings)
  end

  def check_plain(each, body, headers, settings)
    plain = lambda do |secret|
      names = { service_header: settings["signature_header"], service_prefix: settings["signature_prefix"] }
      Hookferry::Receiver.new(secret: secret, **names).verify(body, headers)
    end
    assert_equal each["event"]["type"], plain.call(each["webhook"]["secrets"].first["secret"]).type
    assert_equal("no_match", ending { plain.call(STRANGE) })
  end

  class BusyStore
    def claim(_id, _lease_seconds)
      :busy
    end
  end

  def test_limits
    receiver = Hookferry::Receiver.new(secret: SECRET, dedupe: BusyStore.new) { raise "not for one who is busy" }
    busy = receiver.receive(ORDER, signed("evt_1", ORDER))
    assert_equal JSON.parse(File.read(File.join(FOLDER, "receivers.json"))), {
      "max_body_bytes" => Hookferry::Receiver::MAX_BYTES,
      "lease_seconds" => Hookferry::Receiver::LEASE_SECONDS,
      "remembered_seconds" => Hookferry::MemoryStore::TTL_SECONDS,
      "busy" => { "status" => busy.status, "retry_after_seconds" => busy.headers["retry-after"].to_i }
    }
  end
end
