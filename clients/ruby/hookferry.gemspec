# frozen_string_literal: true

Gem::Specification.new do |spec|
  spec.name = "hookferry"
  spec.version = "0.1.0"
  spec.summary = "Receives and verifies webhooks. No dependencies."
  spec.authors = ["Hookferry"]
  spec.license = "MIT"
  spec.required_ruby_version = ">= 3.0"
  spec.files = Dir["lib/**/*.rb", "README.md", "LICENSE"]
end
