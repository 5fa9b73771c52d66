import Foundation

/// Hands libFuzzer's inputs to the target that `REPRISE_FUZZ_TARGET` names; `--list` prints the
/// names with the longest input of each.
///
/// Built by scripts/fuzz alone: it needs libFuzzer and instrumented code.
@main
enum Driver {
    static func main() {
        if CommandLine.arguments.dropFirst().first == "--list" {
            for target in FuzzTarget.all { print(target.name, target.maximumBytes) }
            return
        }
        var count = CommandLine.argc
        var arguments = CommandLine.unsafeArgv
        exit(runFuzzer(&count, &arguments, runOneInput))
    }

    static let target: FuzzTarget = {
        let name = ProcessInfo.processInfo.environment["REPRISE_FUZZ_TARGET"] ?? ""
        guard let target = FuzzTarget.all.first(where: { $0.name == name }) else {
            print("REPRISE_FUZZ_TARGET is none of", FuzzTarget.all.map(\.name))
            exit(64)
        }
        return target
    }()
}

private func runOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    do {
        try Driver.target.check(Array(UnsafeBufferPointer(start: start, count: count)))
    } catch {
        print("BROKEN", Driver.target.name + ":", error)
        fflush(nil)
        abort()
    }
    return 0
}

@_silgen_name("LLVMFuzzerRunDriver")
private func runFuzzer(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ run: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt
