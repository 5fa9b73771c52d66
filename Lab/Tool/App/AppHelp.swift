import ArgumentParser

/// The help of the demos' apps, which phones launch.
enum AppHelp {
    /// - Parameters:
    ///   - name: the command's.
    ///   - abstract: what the app does.
    ///   - needed: the options that it cannot be without.
    /// - Returns: the configuration of its command.
    static func of(
        _ name: String, _ abstract: String, needed: String = ""
    ) -> CommandConfiguration {
        CommandConfiguration(
            commandName: name, abstract: abstract,
            usage: "reprise-lab app \(name)\(needed) [options]",
            discussion: """
                A phone launches it with these options; they follow `--` when it is
                installed. It reports what it does to the phone's log.

                EXAMPLES
                  reprise-lab phone install demo ./reprise-lab -- app \(name) …
                  reprise-lab phone launch demo

                EXIT CODES
                  0 ended; 64 the options were not understood; 69 no phone has launched it.
                  All: reprise-lab --help
                """, shouldDisplay: false)
    }
}

extension ArgumentHelp {
    /// Of `--as`, for an app that has rivals.
    static let algorithm = ArgumentHelp("Which app: the original one, a repair of it, or Reprise.")
    static let appServer = ArgumentHelp("The address of the server.")
    static let appUser = ArgumentHelp("The signed-in user, at a server with --dev.")
    static let appToken = ArgumentHelp("The user's token.")
    static let appChannel = ArgumentHelp("A channel that it shows; may be repeated.")
    static let dieAfterChanges = ArgumentHelp(
        "Dies after so many changes of what is delivered, before the next.")
}
