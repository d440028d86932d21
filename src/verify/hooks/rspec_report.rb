# An RSpec formatter that writes one JSON line per example next to its own folder; runs inside the sandbox.
require "json"
require "rspec/core"

class SuiteReport
  RSpec::Core::Formatters.register self, :start, :example_passed, :example_failed, :example_pending, :message, :stop

  MESSAGE_CHARACTERS = 2000

  def initialize(_output)
    ENV.delete("SPEC_OPTS")
    ENV["SUITE_REPORT_TAKEN"] = "1"
    name = "rspec-#{Process.pid}-#{Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)}.ndjson"
    @stream = File.open(File.join(File.dirname(__dir__), name), File::WRONLY | File::CREAT | File::EXCL)
    @stream.sync = true
    write(begin: "rspec")
  end

  def start(_notification); end

  def message(notification)
    # A file that could not be loaded is told as text alone.
    return unless notification.message.include?("An error occurred while loading")
    file = notification.message[/while loading (\S+?)\.?\s/, 1].to_s
    write(file: File.expand_path(file), names: [], outcome: "fail", message: notification.message[0, MESSAGE_CHARACTERS])
  end

  def example_passed(notification)
    record(notification.example, "pass", "")
  end

  def example_failed(notification)
    error = notification.exception
    trace = (error.backtrace || []).reject { |line| line.include?("/gems/") || line.include?("/rspec") }
    record(notification.example, "fail", ([error.message] + trace.first(3).map { |line| "    at #{line}" }).join("\n"))
  end

  def example_pending(notification)
    record(notification.example, "skip", "")
  end

  def stop(_notification)
    write(end: true)
    @stream.close
  end

  private

  def record(example, outcome, message)
    groups = example.example_group.parent_groups.reverse.map(&:description)
    file = File.expand_path(example.metadata[:file_path])
    write(file: file, names: groups + [example.description.gsub(/0x[0-9a-f]+/, "0x")], outcome: outcome,
          message: message[0, MESSAGE_CHARACTERS])
  end

  def write(line)
    @stream.puts(JSON.generate(line))
  rescue JSON::GeneratorError, EncodingError
    @stream.puts(JSON.generate(line.transform_values { |v| v.is_a?(String) ? v.dup.force_encoding("UTF-8").scrub : v }))
  end
end
