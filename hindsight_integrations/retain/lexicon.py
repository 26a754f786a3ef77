"""Word lists that tell names from other capitalised words, in lower case."""

from __future__ import annotations


def _words(*lines: str) -> frozenset[str]:
    return frozenset(word for line in lines for word in line.split())


HONORIFICS = _words(
    "mr mrs ms miss mx dr prof professor sir dame madam rev herr frau fräulein monsieur madame",
    "mademoiselle mme mlle señor señora señorita don doña sr sra srta signor signora",
)
"""Stand before a person's name and are no part of it."""

RANKS = _words(
    "doctor lord lady reverend fr father sister brother rabbi imam captain capt colonel col",
    "general gen major maj sergeant sgt lieutenant lt president senator sen governor gov mayor",
    "judge justice chancellor queen king prince princess pope chef coach officer detective aunt",
    "auntie uncle grandma grandpa granny tante onkel tía tío doktor",
)
"""Stand before a person's name, or begin that of something else: "General Motors"."""

TITLES = HONORIFICS | RANKS

DETERMINERS = _words(
    "the a an this that these those my your his her its our their some any every each no another",
    "der die das den dem des ein eine einen einem",
)

FUNCTION_WORDS = _words(
    "a an the and or but nor so yet if then else than as at by for from in into of off on onto out",
    "over per since to toward under until up upon via with within without about above across after",
    "against along among around before behind below beneath beside besides between beyond despite",
    "down during except inside like near outside past regarding through throughout till unless",
    "although though because while whereas whether i me my mine myself we us our ours ourselves",
    "you your yours yourself yourselves he him his himself she her hers herself it its itself they",
    "them their theirs themselves this that these those who whom whose which what when where why",
    "how am is are was were be been being do does did done doing have has had having can could",
    "shall should would must ought not no yes any some all both each every either neither none few",
    "many much more most other another such same own only very too also just even still again ever",
    "never always often sometimes usually once twice here there now today tomorrow yesterday",
    "tonight later soon ago already almost maybe perhaps quite rather really somewhat im ive id",
    "ill youre hes shes theyre weve dont doesnt didnt cant couldnt wont wouldnt isnt arent wasnt",
    "thats whats lets someone somebody something anyone anybody anything everyone everybody",
    "everything nobody nothing one ones two three four five six seven eight nine ten first second",
    "third last next",
)

CALENDAR = _words(
    "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri",
    "sat sun mondays tuesdays wednesdays thursdays fridays saturdays sundays january february",
    "march april may june july august september october november december jan feb mar apr jun jul",
    "aug sep sept oct nov dec am pm a.m p.m noon midnight spring summer autumn fall winter weekend",
    "week month year morning afternoon evening night day utc gmt est pst cet ad bc bce ce q1 q2 q3",
    "q4 montag dienstag mittwoch donnerstag freitag samstag sonntag januar februar märz mai juni",
    "juli oktober dezember lundi mardi mercredi jeudi vendredi samedi dimanche lunes martes",
    "miércoles jueves viernes sábado domingo enero febrero marzo abril mayo junio julio agosto",
    "septiembre octubre noviembre diciembre janvier février mars avril juin juillet août décembre",
)

OPENERS = _words(
    "hey hi hello hiya howdy yo dear thanks thank thx ty cheers welcome congrats congratulations",
    "morning afternoon evening bye goodbye goodnight night ciao hola bonjour salut hallo wow whoa",
    "oh ah aha haha hahaha lol omg ooh oops ouch yay yeah yep yup nah nope yes no ok okay alright",
    "right sure sorry please well so anyway actually absolutely definitely certainly exactly",
    "totally honestly seriously literally basically obviously clearly luckily fortunately",
    "unfortunately hopefully apparently finally recently lately currently meanwhile however",
    "therefore moreover furthermore additionally instead otherwise nevertheless awesome amazing",
    "great good nice cool fantastic wonderful lovely beautiful perfect excellent brilliant",
    "incredible interesting fun funny glad happy sad excited proud sounds looks seems feels guess",
    "hope wish think know love hate want need got get gotta gonna wanna let lets looking going",
    "coming trying thinking talking working taking making getting having being seeing hearing keep",
    "stay take check look listen remember imagine tell ask see say said try come go wait stop",
    "start believe speaking regarding btw fyi imo imho tbh asap ps eta faq tldr aka etc vs re fw",
    "fwd cc todo note notes update yikes hmm hm um uh er ugh phew meh wtf idk brb np rip dm pm ai",
    "tv pc id done agreed same true fair noted understood correct wrong maybe perhaps sometimes",
    "often once bro dude mate buddy guys folks everyone everybody all team friends mom dad mum",
    "mama papa mommy daddy ma'am sir honey babe darling god gosh jesus goodness heavens damn shit",
    "fuck hell aw aww awww woohoo woo woah oof ahh ohh gotcha lemme y'all ya super cozy hang chill",
    "huge merry best kind regards sincerely yours user assistant system",
)
"""Begin a sentence, greet or exclaim, and so stand capitalised without being a name."""

NUMBERED = _words(
    "room flight gate building floor apartment apt suite invoice order ticket issue bug case",
    "section chapter version platform terminal bus line route highway unit table ward lab hall",
    "block part phase level grade class season episode page step exercise appendix figure act",
    "article item pr contract locker track booth pier dock bay zone district stage batch sprint",
    "rev revision build zimmer raum gleis linie halle haus kapitel rechnung salle quai ligne",
    "facture sala habitación",
)
"""Nouns that a number makes into a name: "Room 101"."""

ALSO_WORDS = _words(
    "will may mark rose grace hope faith joy art bill jack grant frank dean guy pat rob sue ray",
    "jean gene penny ruby amber crystal dawn eve april june august summer autumn ivy lily violet",
    "daisy iris olive holly heather hazel ginger jasmine pearl opal jade gem star sky skye river",
    "rain storm brook brooke glen cliff heath dale forest woody chase chance hunter mason cooper",
    "carter miller baker cook king prince duke earl baron bishop pope page paige drew miles max",
    "rich robin martin jay wren finch fox wolf drake hawk lance rod buck buddy chip skip curt bud",
    "christian major van don lee les al ed angel carol charity cherry clay colt destiny melody",
    "harmony patience prudence felicity constance trinity victor patsy peg dot dolly kitty bunny",
    "candy sandy rusty dusty stormy sunny misty windy honey precious reed stone rock flint steel",
    "gray grey brown black white green young long short small little west north east south wood",
    "hill field fields lake banks bush rice bell ball bass bird bond booth bow bridges brand burns",
    "butler byrd cash church cole day english fisher flowers ford foster frost gardener gates",
    "glass golden good hale hall hand hardy hart head holiday house hurt hood iron joiner judge",
    "knight lane law lamb love loving low marsh mayor mead moody moon moss nash neat noble nail",
    "park parks parsons peace pine pitt plant pool potter power price read rhodes rivers rush",
    "savage seal shepherd singer sharp shields skinner smart snow sparks speed spear spring",
    "steward street strange sweet swift taylor temple thorn tower town tripp turner tyler wade",
    "walker wall walls ward warner waters weaver webb weeks wells wise worth wright yard apple",
    "amazon target slack notion teams word excel access oracle meta square stripe zoom chrome edge",
    "signal shell gap visa discover sprint orange subway uber alphabet windows office outlook",
    "drive docs maps rust go python java spark kafka flask react angular express node pandas",
    "linear asana box dropbox confluence jira cursor copilot gemini claude opera safari nest echo",
    "alexa kindle fire prime turkey china chile jordan georgia reading bath cork mobile phoenix",
    "buffalo polish danish march focus time life people fortune vogue wired science nature cell",
    "ski golf mini fiesta polo beetle jaguar puma champion corona tide dove gain bounty mars twix",
    "galaxy ask bid can did has might must per pro she he it us we who",
)
"""Names that are also words of the language: lower-cased, they are not taken for names."""

NAME_LINKS = _words(
    "of de del della di da do dos das du la le van von der den ter ten bin ibn al el y e zu zur",
)
"""Join the capitalised parts of one name."""

ORGANIZATION_WORDS = _words(
    "inc corp corporation company co ltd llc llp plc gmbh ag kg se sa sarl srl spa bv nv oy ab as",
    "university college school institute academy hospital clinic bank group foundation association",
    "society club council committee ministry department agency bureau studios studio labs partners",
    "holdings ventures capital press church museum library orchestra band union league team",
    "universität schule krankenhaus verein université école universidad",
)

PLACE_WORDS = _words(
    "street st avenue ave road rd lane boulevard blvd square park lake river mount mountain",
    "mountains valley beach island islands bay bridge city town village county state airport",
    "station harbor harbour port hotel restaurant cafe café bar plaza hill hills coast peninsula",
    "desert forest straße strasse platz berg see bahnhof flughafen rue place gare calle",
)

SPEECH_ROLES = _words("user assistant system human ai bot agent tool function developer model")
"""Roles of a chat, which are nobody's name."""

SECOND_PERSON = _words(
    "you your yours yourself yourselves u ur you're youre you'd you'll you've y'all dich dir dein",
    "deine deinen deinem tu te toi ton tes vous votre vos tú ti contigo usted ustedes",
)
