import RepriseTesting

/// What this machine lets a test do, asked of `crash-loop` itself; it says on standard error what
/// is missing, and how to allow it.
enum Machine {
    static let canCutPower = can("powerloss", [])
    static let canFillDisks = can("faults", ["--kind", "full"])
    static let canInjectErrors = can("faults", ["--kind", "fdatasync"])

    private static func can(_ verb: String, _ arguments: [String]) -> Bool {
        let probe = try? ChildProcess(.sibling("crash-loop"), [verb, "--probe"] + arguments)
        return probe?.wait() == .exit(0)
    }
}
