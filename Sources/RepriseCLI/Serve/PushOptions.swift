import ArgumentParser

/// The flags of `reprise serve` about push.
struct PushOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Apple's key for push, a .p8 file.", valueName: "file"))
    var apnsKey: String?
    @Option(help: ArgumentHelp("The 10 characters that name the key.", valueName: "id"))
    var apnsKeyId: String?
    @Option(help: ArgumentHelp("The 10 characters that name the team.", valueName: "id"))
    var apnsTeam: String?
    @Option(help: ArgumentHelp("The app's bundle id.", valueName: "name"))
    var apnsTopic: String?
    @Option(
        help: ArgumentHelp(
            "production, sandbox or the URL of a stand-in. (default: production)",
            valueName: "name"))
    var apnsEnvironment: String?
    @Option(help: ArgumentHelp("Authorities that a stand-in is trusted by.", valueName: "file"))
    var apnsCa: String?
    @Option(
        help: ArgumentHelp(
            "The private key on P-256 that browsers subscribe with, in PEM.", valueName: "file"))
    var vapidKey: String?
    @Option(
        help: ArgumentHelp("Where push services reach you: mailto: or https:.", valueName: "url"))
    var vapidSubject: String?
    @Flag(help: "Allow push services on this machine and in private networks.")
    var webPushPrivate = false
    @Flag(help: "Do everything but send pushes, and log them.") var pushDryRun = false

    var flags: PushFlags {
        var flags = PushFlags()
        flags.apnsKey = apnsKey
        flags.apnsKeyID = apnsKeyId
        flags.apnsTeam = apnsTeam
        flags.apnsTopic = apnsTopic
        flags.apnsEnvironment = apnsEnvironment
        flags.apnsAuthorities = apnsCa
        flags.vapidKey = vapidKey
        flags.vapidSubject = vapidSubject
        flags.isPrivateAllowed = webPushPrivate ? true : nil
        flags.isDryRun = pushDryRun ? true : nil
        return flags
    }
}
