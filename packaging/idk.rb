# Made by script/release-files for each release, so changes belong in packaging/idk.rb of the project.
class Idk < Formula
  desc "Encrypted, content-addressed storage in folders and object stores"
  homepage "https://github.com/@REPOSITORY@"
  version "@VERSION@"
  license "MIT"

  on_macos do
    on_arm do
      url "@URL_macos-arm64@"
      sha256 "@SHA256_macos-arm64@"
    end
    on_intel do
      url "@URL_macos-x64@"
      sha256 "@SHA256_macos-x64@"
    end
  end

  on_linux do
    on_arm do
      url "@URL_linux-arm64@"
      sha256 "@SHA256_linux-arm64@"
    end
    on_intel do
      url "@URL_linux-x64@"
      sha256 "@SHA256_linux-x64@"
    end
  end

  def install
    bin.install "idk"
    man1.install "idk.1"
    bash_completion.install "completions/idk.bash" => "idk"
    zsh_completion.install "completions/_idk"
    fish_completion.install "completions/idk.fish"
    pkgshare.install "LICENSES.txt"
  end

  test do
    ENV["XDG_CONFIG_HOME"] = (testpath/"config").to_s
    ENV["XDG_DATA_HOME"] = (testpath/"data").to_s
    assert_match "idk #{version} ", shell_output("#{bin}/idk --version")

    system bin/"idk", "init", "--store", testpath/"store", "--no-passphrase"
    (testpath/"minutes.txt").write "the minutes\n"
    address = shell_output("#{bin}/idk put #{testpath}/minutes.txt").chomp
    assert_match(/\A\h{64}\z/, address)
    assert_equal "the minutes\n", shell_output("#{bin}/idk get #{address}")
    blobs = Dir[testpath/"store/**/*"].select { |path| File.file?(path) }
    blobs.each { |path| refute_match "the minutes", File.binread(path) }
  end
end
