import Configuration
import RepriseCore
import RepriseServer

/// The settings of push; of keys only the paths, so that none is a secret.
struct PushFlags: Sendable {
    var apnsKey: String?
    var apnsKeyID: String?
    var apnsTeam: String?
    var apnsTopic: String?
    var apnsEnvironment: String?
    var apnsAuthorities: String?
    var vapidKey: String?
    var vapidSubject: String?
    var isPrivateAllowed: Bool?
    var isDryRun: Bool?

    init() {}

    init(_ reader: ConfigReader) {
        apnsKey = reader.string(forKey: "apnsKey")
        apnsKeyID = reader.string(forKey: "apnsKeyId")
        apnsTeam = reader.string(forKey: "apnsTeam")
        apnsTopic = reader.string(forKey: "apnsTopic")
        apnsEnvironment = reader.string(forKey: "apnsEnvironment")
        apnsAuthorities = reader.string(forKey: "apnsCa")
        vapidKey = reader.string(forKey: "vapidKey")
        vapidSubject = reader.string(forKey: "vapidSubject")
        isPrivateAllowed = reader.bool(forKey: "webPushPrivate")
        isDryRun = reader.bool(forKey: "pushDryRun")
    }

    static let names: Set<String> = [
        "apnsKey", "apnsKeyId", "apnsTeam", "apnsTopic", "apnsEnvironment", "apnsCa",
        "vapidKey", "vapidSubject", "webPushPrivate", "pushDryRun",
    ]

    /// The given values, by the names of the file.
    var values: [(String, ConfigContent)] {
        let texts = [
            ("apnsKey", apnsKey), ("apnsKeyId", apnsKeyID), ("apnsTeam", apnsTeam),
            ("apnsTopic", apnsTopic), ("apnsEnvironment", apnsEnvironment),
            ("apnsCa", apnsAuthorities), ("vapidKey", vapidKey), ("vapidSubject", vapidSubject),
        ]
        let switches = [("webPushPrivate", isPrivateAllowed), ("pushDryRun", isDryRun)]
        return texts.compactMap { name, text in text.map { (name, .string($0)) } }
            + switches.compactMap { name, isOn in isOn.map { (name, .bool($0)) } }
    }

    var configuration: PushConfiguration {
        get throws {
            var push = PushConfiguration()
            push.isDryRun = isDryRun ?? false
            push.apns = try apns()
            push.webPush = try webPush()
            try push.check()
            return push
        }
    }

    private func apns() throws -> APNsSettings? {
        let all = [apnsKey, apnsKeyID, apnsTeam, apnsTopic]
        guard all.contains(where: { $0 != nil }) else { return nil }
        guard let apnsKey, let apnsKeyID, let apnsTeam, let apnsTopic else {
            throw RepriseError(
                .badConfiguration, "APNs needs a key, its id, a team and a topic.",
                remedy: "Give --apns-key, --apns-key-id, --apns-team and --apns-topic, or none.")
        }
        let environment: APNsSettings.Environment =
            switch apnsEnvironment {
            case nil, "production": .production
            case "sandbox": .sandbox
            case let url?: .custom(url)
            }
        var settings = APNsSettings(
            keyFile: apnsKey, keyID: apnsKeyID, teamID: apnsTeam, topic: apnsTopic,
            environment: environment)
        settings.authorities = apnsAuthorities
        return settings
    }

    private func webPush() throws -> WebPushSettings? {
        guard vapidKey != nil || vapidSubject != nil else { return nil }
        guard let vapidKey, let vapidSubject else {
            throw RepriseError(
                .badConfiguration, "Web Push needs a key and a subject.",
                remedy: "Give --vapid-key and --vapid-subject, or neither.")
        }
        var settings = WebPushSettings(keyFile: vapidKey, subject: vapidSubject)
        settings.allowsPrivate = isPrivateAllowed ?? false
        return settings
    }
}
