# frozen_string_literal: true

require "minitest/autorun"
require_relative "../lib/hookferry"

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
ORDER = '{"type":"order.created","data":{"id":"ord_1"}}'

def signed(id, body, service: false)
  return { "X-Service-Signature" => "sha256=#{OpenSSL::HMAC.hexdigest("SHA256", SECRET, body)}" } if service

  time = Time.now.to_i.to_s
  key = SECRET.delete_prefix("whsec_").unpack1("m")
  signature = [OpenSSL::HMAC.digest("SHA256", key, "#{id}.#{time}.".b + body.b)].pack("m0")
  { "Webhook-Id" => id, "Webhook-Timestamp" => time, "Webhook-Signature" => "v1,#{signature}" }
end

# The code of the error, or "ok".
def ending
  yield
  "ok"
rescue Hookferry::VerificationError => error
  error.code.to_s
end
