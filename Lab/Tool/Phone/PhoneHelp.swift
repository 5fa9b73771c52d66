import ArgumentParser

/// The help of the phone's commands that take nothing but an app.
enum PhoneHelp {
    static func of(
        _ name: String, _ abstract: String, usage: String? = nil, example: String = ""
    ) -> CommandConfiguration {
        let plain = "reprise-lab phone \(name)"
        return CommandConfiguration(
            commandName: name, abstract: abstract, usage: usage,
            discussion: """
                EXAMPLES
                  \(example.isEmpty ? plain : example)
                  \(plain) --folder ./phone --json

                EXIT CODES
                  0 done; 65 no such app; 69 no phone runs there; 76 the phone refuses.
                  All: reprise-lab --help
                """)
    }
}
