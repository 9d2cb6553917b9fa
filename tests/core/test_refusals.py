"""A model's refusal is no memory; what an agent says of itself is one."""

import json

import pytest

from mesa_memory.core.reply import Reply
from mesa_memory.core.text.refusals import refuses
from mesa_memory.core.text.replies import Unusable, read
from mesa_memory.tasks.consolidate import Summary

REFUSALS = """\
I'm sorry, but I can't assist with that.
I’m sorry, but I can’t assist with that request.
I'm really sorry, but I cannot help with that.
Sorry, I can't help you with this.
I am sorry, but I am unable to provide a summary of this content.
I cannot assist with this request.
I can't comply with that.
I won't summarize this conversation.
I'm unable to rate these events as they contain harmful content.
I cannot provide ratings for this material.
As an AI language model, I don't have memories of my own.
As an AI, I cannot form impressions.
As an AI assistant I am not able to do this.
I must decline this request.
I have to respectfully refuse to summarize this content.
I apologize, but I cannot fulfill your request.
I apologise, but I'm not able to continue with this conversation.
Unfortunately, I can't generate that content.
I'm sorry.
Sorry!
I can't.
I cannot do that.
I'm not able to help with that request, as it goes against my guidelines.
  **I'm sorry, but I can't help with that.**
"I cannot continue."
I can't help with that. Is there anything else?
No, I can't do that.
My apologies, but I can't process this request.
Apologies, but as an AI language model, I cannot do so.
I’m sorry, but I won’t be able to help with that.
I'm sorry, but I'm not comfortable summarizing this content.
I cannot create a summary for this.
I could not comply with the request.
I am not permitted to discuss these topics.""".splitlines()
MEMORIES = """\
Agent 3 said sorry for the broken fence.
Sorry is the word agent 2 used.
Sorry seemed to be the hardest word for agent 4.
I can't reach the lake, agent 4 said.
I can't reach the lake; agent 4 has the boat.
I'm sorry that I could not help Agent 4.
I'm sorry I missed the meeting and told Agent 3 so.
I am sorry for Bob, who lost his farm.
I'm sorry, I told Agent 2, but I can't lend you the mule.
I can't help liking Agent 5.
I cannot help Agent 3 carry the stones because my cart is broken.
I must decline Bob's offer of 5 coins.
I have to help Agent 6 with the harvest tomorrow.
I have to refuse Agent 2's loan; he owes me 40.
I will not sell to Agent 9, who lied to me twice.
I won't comply with Agent 3's demand for grain.
I can't share the well with Agent 2 until the drought ends.
As an AI researcher, I met Bob at the market.
As an AI, agent 3 believes in a fair vote.
As a farmer I cannot vote in the city.
I cannot give Agent 4 the grain I promised, since the store burnt down.
I can't do this alone, I told agent 4.
Apologies were exchanged between agents 2 and 3.
Unfortunately, the bridge collapsed and agent 7 is missing.
Unfortunately, I can't cross the river.
No, agent 3 did not agree.
No news from the north.
I am not able to walk since the fall; Agent 8 brings me food.
I could not answer Agent 5's question about the price.
I can't continue the journey before spring.
I cannot rate Bob highly after what he did.
I'm not going to discuss prices with Agent 2.
Agent 4 is helpful but said: I can't assist with that request.""".splitlines()


def test_a_refusal_is_no_memory_whether_bare_or_typed():
    for text in REFUSALS:
        assert refuses(text)
        for reply in (text, json.dumps({"summary": text}), f"```\n{text}\n```"):
            with pytest.raises(Unusable, match="refusal"):
                read(Reply(reply), Summary, 4000)


def test_what_an_agent_says_of_itself_is_no_refusal():
    for text in MEMORIES:
        assert not refuses(text)
        for reply in (text, json.dumps({"summary": text})):
            assert read(Reply(reply), Summary, 4000).summary == text
