# Runs a formula without Homebrew: downloads nothing, but installs from an unpacked archive and runs the
# formula's test. What it does not know fails, as in Homebrew.
#
# Usage: ruby brew.rb FORMULA UNPACKED PREFIX OS CPU      such as macos arm

require "json"
require "open3"
require "pathname"

FORMULA, UNPACKED, PREFIX, OS, CPU = ARGV

class Pathname
  def install(*sources)
    mkpath
    sources.each do |source|
      names = source.is_a?(Hash) ? source : { source => File.basename(source) }
      names.each do |from, to|
        text = File.binread(File.join(UNPACKED, from))
        join(to).binwrite(text)
        join(to).chmod(File.stat(File.join(UNPACKED, from)).mode)
      end
    end
  end

  def write(text)
    File.write(to_s, text)
  end
end

class Formula
  FIELDS = {}

  class << self
    attr_reader :tests

    %i[desc homepage url version sha256 license].each do |name|
      define_method(name) { |value| FIELDS[name] = value }
    end

    { on_macos: "macos", on_linux: "linux" }.each do |name, os|
      define_method(name) { |&block| block.call if os == OS }
    end

    { on_arm: "arm", on_intel: "intel" }.each do |name, cpu|
      define_method(name) { |&block| block.call if cpu == CPU }
    end

    def test(&block)
      @tests = block
    end
  end

  {
    bin: "bin", man1: "share/man/man1", bash_completion: "etc/bash_completion.d",
    zsh_completion: "share/zsh/site-functions", fish_completion: "share/fish/vendor_completions.d",
    pkgshare: "share/idk"
  }.each { |name, path| define_method(name) { Pathname.new(PREFIX)/path } }

  def version = FIELDS[:version]

  def testpath = Pathname.new(PREFIX)/"test"

  def system(*command)
    _, errors, status = Open3.capture3(*command.map(&:to_s))
    raise "#{command}: #{errors}" unless status.success?
  end

  def shell_output(command)
    output, errors, status = Open3.capture3(command)
    raise "#{command}: #{errors}" unless status.success?

    output
  end

  def assert_equal(want, have)
    raise "#{have.inspect} is not #{want.inspect}" unless want == have
  end

  def assert_match(pattern, text)
    raise "#{text.inspect} does not match" unless text.match?(pattern)
  end

  def refute_match(pattern, text)
    raise "#{pattern.inspect} matches" if text.match?(pattern)
  end
end

load FORMULA
formula = Idk.new
if UNPACKED != ""
  formula.install
  formula.testpath.mkpath
  formula.instance_exec(&Idk.tests)
end
puts JSON.generate(Formula::FIELDS)
