import RepriseCore
import RepriseWire
import Testing

@Suite("How a message asks to be shown")
struct NoticeAppearanceTests {
    private let profile = Profile(name: "Ada", picture: "https://example.org/ada.png")

    @Test("A message without a sender's name or picture gets those of the author's profile")
    func completed() {
        var appearance = NoticeAppearance()
        appearance.complete(profile)
        #expect(appearance.sender == "Ada" && appearance.picture == profile.picture)
        var own = NoticeAppearance()
        own.picture = "https://example.org/own.png"
        own.complete(profile)
        #expect(own.sender == "Ada" && own.picture == "https://example.org/own.png")
    }

    @Test("A name of the message's own gets no picture of a profile")
    func named() {
        var named = NoticeAppearance()
        named.sender = "The office"
        named.complete(profile)
        #expect(named.sender == "The office" && named.picture == nil)
        var nobody = NoticeAppearance()
        nobody.complete(Profile(picture: profile.picture))
        #expect(nobody == NoticeAppearance())
    }
}
